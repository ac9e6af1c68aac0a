import type { ChannelDescriptor } from '../channel.ts';
import { fieldsOf, isPrivateOnTheWire, isWebAddress, matches } from '../fields.ts';
import { openWebhook, type WebhookSettings } from './channel.ts';
import { isClearlyPrivate } from './publicAddress.ts';

const FIELDS = fieldsOf('WEBHOOK', {
  url: {
    value: 'URL',
    about: 'the address to call',
    isValid: (value, settings) => (settings?.allowPrivate ? isWebAddress(value) : isPrivateOnTheWire(value)),
    mustBe: 'an address that begins with https:// (or http://, if it may be in a private network)',
  },
  'allow-private': { about: 'the address may be in a private network', operatorOnly: true },
  secret: {
    value: 'SECRET',
    about: 'Signing secret (whsec_…)',
    secret: true,
    isValid: matches(/^whsec_[\w+/-]{32,}={0,2}$/),
    mustBe: '"whsec_" and at least 24 random bytes in base64',
  },
});

export const WEBHOOK: ChannelDescriptor<WebhookSettings> = {
  name: 'webhook',
  about: 'Your own system: a signed POST for each message (Standard Webhooks)',
  fix: 'Fix the receiving system, or correct the address',
  isRemote: true,
  // The receiver only answers the request. A message that may have arrived is sent again with the same id.
  reportsStatus: false,
  // Standard Webhooks: immediately, then after 5 s, 5 min, 30 min, and so on for more than three days.
  retryPausesSeconds: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
  fields: FIELDS,
  checkOwn({ url, allowPrivate }) {
    return !allowPrivate && isClearlyPrivate(new URL(url))
      ? [{ field: FIELDS[0]!, text: 'must not lead into a private network unless that is allowed.' }]
      : [];
  },
  open: (settings, parts) => ({ type: WEBHOOK, ...openWebhook(settings, parts) }),
};
