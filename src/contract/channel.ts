import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

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
    code: Type.Union([Type.String(), Type.Null()], {
      description: 'The channel’s error code; null if it is `ok`.',
    }),
    since: Type.Union([Timestamp, Type.Null()], { description: 'Since when it is not `ok`.' }),
    until: Type.Union([Timestamp, Type.Null()], {
      description: 'When it is tried next; null if it is `ok`, or stopped until the operator resumes it.',
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
