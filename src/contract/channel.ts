import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';

export const ChannelView = Type.Object(
  {
    channel: Type.String({ description: 'Its kind, such as `webhook`.' }),
    own: Type.Boolean({ description: 'False: the operator’s channel, for merchants without their own.' }),
    settings: Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]), {
      description:
        'The settings of the merchant’s own channel, without secrets and without what only the operator sets.',
    }),
    number_id: NullOr(
      Type.String(),
      'The WhatsApp number that messages come from, as its id at Meta, also of the operator’s channel. Null for others.',
    ),
    daily_limit: Type.Integer({
      description: 'Distinct customers that campaigns and templates may reach in 24 hours.',
    }),
    used: Type.Integer({ description: 'Customers reached within the last 24 hours.' }),
    state: Type.Enum(['ok', 'stopped', 'not_answering'], {
      description:
        '`stopped`: it refuses our messages. `not_answering`: several requests in a row timed out.',
    }),
    code: Type.Union([Type.String(), Type.Null()], {
      description: 'The channel’s error code; null if it is `ok`.',
    }),
    since: Type.Union([Timestamp, Type.Null()], { description: 'Since when it is not `ok`.' }),
    until: Type.Union([Timestamp, Type.Null()], {
      description:
        'When Deskbell tries it next; null if it is `ok`, or stopped until the operator resumes it.',
    }),
  },
  {
    title: 'Channel',
    description: 'The merchant’s channel to its customers. Messages wait while it is not `ok`.',
    examples: [
      {
        channel: 'webhook',
        own: true,
        settings: { url: 'https://shop.example/messages' },
        number_id: null,
        daily_limit: 250,
        used: 12,
        state: 'ok',
        code: null,
        since: null,
        until: null,
      },
    ],
  },
);
export type ChannelView = Static<typeof ChannelView>;

export const ChannelTemplate = Type.Object(
  {
    name: NullOr(Type.String(), 'Null if the channel has no template.'),
    language: NullOr(Type.String()),
    state: Type.Enum(
      [
        ...[
          'none',
          'approved',
          'pending',
          'rejected',
          'paused',
          'disabled',
          'missing',
          'unusable',
          'unknown',
        ],
      ] as const,
      {
        title: 'TemplateState',
        description:
          '`missing`: the business account has no such template. `unusable`: it does not have exactly one placeholder. ' +
          '`unknown`: WhatsApp could not be asked.',
      },
    ),
    reason: NullOr(Type.String(), 'Why it cannot be used, in plain words. Null if it is approved.'),
    text: NullOr(Type.String(), 'Its body as WhatsApp has it. `{{1}}` is where the answer goes.'),
  },
  {
    title: 'ChannelTemplate',
    description: 'The template that customers get who have not written for a day.',
    examples: [
      {
        ...{ name: 'answer_ready', language: 'en', state: 'approved', reason: null },
        text: 'Hello! Here is the answer to your question: {{1}}',
      },
    ],
  },
);
export type ChannelTemplate = Static<typeof ChannelTemplate>;

const option = Type.String({ description: 'The name of the setting.' });

export const ChannelTypes = Type.Array(
  Type.Object(
    {
      channel: Type.String(),
      about: Type.String({ description: 'One line for people who choose a channel.' }),
      callback_url: NullOr(
        Type.String(),
        'The address to enter at the provider, so that it reports what customers write. Null if it needs none.',
      ),
      fields: Type.Array(
        Type.Object(
          {
            option,
            about: Type.String({ description: 'A few words.' }),
            secret: Type.Boolean({ description: 'Stored encrypted and never shown.' }),
            optional: Type.Boolean(),
            default: NullOr(Type.String()),
            must_be: Type.String({ description: 'Completes “The value must be …”.' }),
          },
          { title: 'ChannelField' },
        ),
      ),
    },
    { title: 'ChannelType' },
  ),
  {
    description: 'The channels that a merchant can set up, and their settings.',
    examples: [
      [
        {
          channel: 'webhook',
          about: 'Your own system: a signed POST for each message (Standard Webhooks)',
          callback_url: null,
          fields: [
            {
              ...{ option: 'url', about: 'the address to call', secret: false, optional: false },
              ...{ default: null, must_be: 'an address that begins with https://' },
            },
          ],
        },
      ],
    ],
  },
);
export type ChannelTypes = Static<typeof ChannelTypes>;

const setup = {
  channel: Type.String({ maxLength: 50, description: 'Its kind, such as `whatsapp`.' }),
  settings: Type.Record(Type.String({ maxLength: 50 }), NullOr(Type.String({ maxLength: 4000 })), {
    maxProperties: 20,
    description: 'By option. What is absent stays as it is. Null removes it.',
  }),
};

export const ChannelSetup = Type.Object(setup, {
  title: 'ChannelSetup',
  examples: [
    {
      channel: 'webhook',
      settings: {
        url: 'https://shop.example/messages',
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYq',
      },
    },
  ],
});
export type ChannelSetup = Static<typeof ChannelSetup>;

/** Without a body: the channel that is in use. */
export const ChannelToTest = Type.Object(Type.Partial(ChannelSetup).properties, {
  title: 'ChannelToTest',
  examples: [{}],
});

export const ChannelTest = Type.Object(
  {
    ok: Type.Boolean(),
    code: NullOr(Type.String(), 'The error code of the channel.'),
    reason: NullOr(Type.String(), 'Why it does not work, in plain words.'),
    field: NullOr(Type.String(), 'The setting that caused it, such as `settings.token`, if one did.'),
  },
  {
    title: 'ChannelTest',
    description: 'Whether the channel works.',
    examples: [
      {
        ...{ ok: false, code: '190', reason: 'The access token has expired or is not valid.' },
        field: 'settings.token',
      },
    ],
  },
);
export type ChannelTest = Static<typeof ChannelTest>;
