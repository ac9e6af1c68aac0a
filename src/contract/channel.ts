import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);

export const ChannelView = Type.Object(
  {
    channel: Type.String({ description: 'Its kind, such as `webhook`.' }),
    own: Type.Boolean({ description: 'False: the operator’s channel, for merchants without their own.' }),
    settings: Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]), {
      description:
        'The settings of the merchant’s own channel, without secrets and without what only the operator sets.',
    }),
    daily_limit: Type.Integer({
      description: 'Distinct customers that campaigns and templates may reach in 24 hours.',
    }),
    used: Type.Integer({ description: 'Customers reached within the last 24 hours.' }),
    state: Type.Enum(['ok', 'stopped', 'not_answering'], {
      description:
        '`stopped`: it refuses our messages. `not_answering`: several requests in a row timed out.',
    }),
    code: orNull(Type.String({ description: 'The channel’s error code, if it is not `ok`.' })),
    since: orNull(Timestamp),
    until: orNull(Timestamp),
  },
  {
    description: 'The merchant’s channel to its customers. Messages wait while it is not `ok`.',
    examples: [
      {
        channel: 'webhook',
        own: true,
        settings: { url: 'https://shop.example/messages' },
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
