import { type Static, Type } from 'typebox';
import { NullOr } from './common.ts';

export const SUBSCRIPTIONS_MAX = 10;
export const ENDPOINT_LENGTH_MAX = 2048;
const LANGUAGES = ['en', 'es', 'pt', 'ar'] as const;

export const AlertKey = Type.Object(
  { public_key: Type.String({ description: 'The `applicationServerKey` for the browser, in base64url.' }) },
  {
    title: 'AlertKey',
    description: 'The public key of this server. It does not change.',
    examples: [
      {
        public_key: 'BDd3_hVL9fZi9Ybo2UUzA284WG5FZR30_95YeZJsiApwXKpNcF1rRPF3foIiBHXRdJI2Qhumhf6_LFTeZaNndIo',
      },
    ],
  },
);

export const SubscriptionBody = Type.Object(
  {
    endpoint: Type.String({
      maxLength: ENDPOINT_LENGTH_MAX,
      description: 'The address of the browser’s push service.',
    }),
    keys: Type.Object(
      {
        p256dh: Type.String({ maxLength: 200, description: 'The public key of the browser, in base64url.' }),
        auth: Type.String({ maxLength: 100, description: 'Its secret, in base64url.' }),
      },
      { title: 'PushKeys' },
    ),
    language: Type.Optional(
      Type.Enum([...LANGUAGES], { type: 'string', default: 'en', description: 'Of what the device shows.' }),
    ),
  },
  {
    title: 'PushSubscription',
    description: 'What `PushSubscription.toJSON()` of a browser returns.',
    examples: [
      {
        endpoint: 'https://push.example/p/3Zx9',
        keys: {
          p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
          auth: 'BTBZMqHH6r4Tts7J_aSIgg',
        },
        language: 'en',
      },
    ],
  },
);

export const EndpointBody = Type.Object(
  { endpoint: Type.String({ maxLength: ENDPOINT_LENGTH_MAX }) },
  { title: 'PushEndpoint', examples: [{ endpoint: 'https://push.example/p/3Zx9' }] },
);

const TIME = '^([01]\\d|2[0-3]):[0-5]\\d$';
const OwnQuietHours = Type.Object(
  {
    from: Type.String({ pattern: TIME }),
    to: Type.String({ pattern: TIME }),
    time_zone: Type.String({ maxLength: 64, description: 'An IANA name.', examples: ['Europe/Madrid'] }),
  },
  { title: 'OwnQuietHours', additionalProperties: false, description: 'They may go past midnight.' },
);
export type OwnQuietHours = Static<typeof OwnQuietHours>;

const WHAT = ['all', 'assigned', 'mentions'] as const;
const fields = {
  push: Type.Boolean({ description: 'Whether your devices get alerts.' }),
  hide_text: Type.Boolean({ description: 'An alert then has neither the customer’s name nor any text.' }),
  email_after_minutes: NullOr(
    Type.Integer({ minimum: 1, maximum: 1440 }),
    'Send an e-mail if a question has waited for so long and nobody has looked. Null: never.',
  ),
  quiet_hours: Type.Union([Type.Literal('shop'), OwnQuietHours, Type.Null()], {
    description: 'When alerts wait: in those of the shop, in your own, or never.',
  }),
  what: Type.Enum([...WHAT], {
    type: 'string',
    description:
      '`all`: new questions, messages that were not delivered, what is assigned to you, and notes that mention you. ' +
      '`assigned`: only what is assigned to you, and mentions. `mentions`: only mentions.',
  }),
};
const example = {
  push: true,
  hide_text: false,
  email_after_minutes: null,
  quiet_hours: 'shop',
  what: 'all',
} as const;

export const AlertSettings = Type.Object(
  {
    ...fields,
    devices: Type.Integer({ description: 'How many browsers get your alerts.' }),
    mail_available: Type.Boolean({ description: 'Whether this server can send e-mail.' }),
  },
  {
    title: 'AlertSettings',
    description: 'Your own settings.',
    examples: [{ ...example, devices: 1, mail_available: true }],
  },
);
export type AlertSettings = Static<typeof AlertSettings>;

export const AlertSettingsChange = Type.Partial(Type.Object(fields), {
  title: 'AlertSettingsChange',
  description: 'Only what is given changes.',
  examples: [
    { hide_text: true },
    { quiet_hours: { from: '22:00', to: '07:00', time_zone: 'Europe/Madrid' } },
  ],
});
export type AlertSettingsChange = Static<typeof AlertSettingsChange>;
