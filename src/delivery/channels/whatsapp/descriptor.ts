import { type ChannelDescriptor, DOUBLING_PAUSES_SECONDS } from '../channel.ts';
import { fieldsOf, isPrivateOnTheWire, matches } from '../fields.ts';
import { openWhatsApp, type WhatsAppSettings } from './channel.ts';

export const WHATSAPP: ChannelDescriptor<WhatsAppSettings> = {
  name: 'whatsapp',
  about: 'A WhatsApp business number, through the Cloud API',
  fix: 'Correct the number, its token or the address',
  isRemote: true,
  reportsStatus: true,
  retryPausesSeconds: DOUBLING_PAUSES_SECONDS,
  fields: fieldsOf('WHATSAPP', {
    'phone-number-id': {
      value: 'ID',
      about: 'the id of the number',
      isNumber: true,
      isValid: matches(/^\d{5,25}$/),
      mustBe: 'the digits of the number’s id',
    },
    template: {
      value: 'NAME',
      about: 'the template to use outside the 24-hour window',
      optional: true,
      isValid: matches(/^[a-z0-9_]{1,512}$/),
      mustBe: 'a template’s name',
    },
    'template-language': {
      value: 'CODE',
      about: 'the template’s language',
      default: 'en',
      isValid: matches(/^[a-z]{2,3}(_[A-Z]{2})?$/),
      mustBe: 'a code such as en or pt_BR',
    },
    'business-account-id': {
      value: 'ID',
      about: 'the id of the WhatsApp business account, to show the template',
      optional: true,
      isValid: matches(/^\d{5,25}$/),
      mustBe: 'the digits of the business account’s id',
    },
    'base-url': {
      value: 'URL',
      about: 'the address of the Graph API',
      default: 'https://graph.facebook.com',
      operatorOnly: true,
      isValid: isPrivateOnTheWire,
      mustBe: 'an address that begins with https://',
    },
    version: {
      value: 'VERSION',
      about: 'the version of the Graph API',
      default: 'v23.0',
      isValid: matches(/^v\d{1,3}\.\d{1,2}$/),
      mustBe: 'a version such as v23.0',
    },
    token: {
      value: 'TOKEN',
      about: 'Access token',
      secret: true,
      isValid: matches(/^\S{10,}$/),
      mustBe: 'an access token of at least 10 characters, without spaces',
    },
    'app-secret': {
      value: 'SECRET',
      about: 'App secret',
      secret: true,
      isValid: matches(/^\S{16,}$/),
      mustBe: 'the app’s secret: at least 16 characters, without spaces',
    },
    'verify-token': {
      value: 'TOKEN',
      about: 'Verify token',
      secret: true,
      isValid: matches(/^\S{8,}$/),
      mustBe: 'a word of at least 8 characters, without spaces',
    },
  }),
  open: (settings, parts) => ({ type: WHATSAPP, ...openWhatsApp(settings, parts) }),
  inbound: {
    prefix: '/webhooks',
    callback: '/webhooks/whatsapp',
    routes: async () => (await import('./routes.ts')).whatsappRoutes,
  },
};
