import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { DeliveryStateName } from './delivery.ts';
import { EVENT_TYPE_NAMES } from './events.ts';

export const WEBHOOKS_MAX = 10;
const URL_LENGTH_MAX = 2048;
/** A week. */
const OVERLAP_SECONDS_MAX = 7 * 86_400;
export const OVERLAP_SECONDS_DEFAULT = 86_400;

const Types = Type.Array(Type.Enum(EVENT_TYPE_NAMES, { title: 'EventType' }), {
  minItems: 1,
  maxItems: EVENT_TYPE_NAMES.length,
});
const Url = Type.String({ minLength: 1, maxLength: URL_LENGTH_MAX });
/** Without control characters. */
const Description = Type.String({ maxLength: 200, pattern: '^[^\\u0000-\\u001f\\u007f]*$' });

const fields = {
  id: Type.Integer(),
  url: Type.String(),
  events: NullOr(Types, 'The types of events that it receives; null for all.'),
  description: NullOr(Type.String()),
  enabled: Type.Boolean({
    description:
      'Whether events are sent. While it is false, they wait as long as events are kept: 30 days by default.',
  }),
  include_content: Type.Boolean({
    description:
      'Whether events have texts (answers and what customers write). True if an owner, or a key that may read ' +
      'notifications, has set the address.',
  }),
  failing_since: NullOr(Timestamp, 'Since when every attempt has failed.'),
  stopped_at: NullOr(Timestamp, 'When Deskbell turned it off, because it answered 410 or failed for 5 days.'),
  stop_reason: NullOr(Type.String()),
  previous_secret_until: NullOr(Timestamp, 'Until when the previous secret also signs.'),
  replaying: Type.Boolean({ description: 'Whether earlier events are being sent again.' }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

const example = {
  id: 1,
  url: 'https://assistant.example/deskbell',
  events: ['notification.answered', 'notification.expired'],
  description: 'The assistant',
  enabled: true,
  include_content: true,
  failing_since: null,
  stopped_at: null,
  stop_reason: null,
  previous_secret_until: null,
  replaying: false,
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:30:00.000Z',
};
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';

export const Webhook = Type.Object(fields, {
  title: 'Webhook',
  description: 'A webhook endpoint, without its secret.',
  examples: [example],
});
export type Webhook = Static<typeof Webhook>;

export const WebhookList = Type.Array(Webhook, {
  description: 'In the order of their ids.',
  examples: [[example]],
});

export const WebhookWithSecret = Type.Object(
  { ...fields, secret: Type.String({ description: 'Shown only here. It verifies the signatures.' }) },
  {
    title: 'WebhookWithSecret',
    description: 'A webhook endpoint with its new secret.',
    examples: [{ ...example, secret }],
  },
);

export const NewWebhook = Type.Object(
  {
    url: Url,
    events: Type.Optional(NullOr(Types, 'The types of events to send. The default is all.')),
    description: Type.Optional(NullOr(Description)),
  },
  {
    title: 'NewWebhook',
    examples: [{ url: example.url, events: example.events, description: example.description }],
  },
);

export const WebhookChange = Type.Object(
  {
    url: Type.Optional(Url),
    events: Type.Optional(NullOr(Types, 'Null for all.')),
    description: Type.Optional(NullOr(Description)),
    enabled: Type.Optional(Type.Boolean()),
  },
  { title: 'WebhookChange', examples: [{ enabled: true }] },
);

export const RotateBody = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        default: OVERLAP_SECONDS_DEFAULT,
        description: 'How long the previous secret also signs.',
      }),
    ),
  },
  { title: 'WebhookRotation', examples: [{ overlap_seconds: 86_400 }] },
);

export const ReplayBody = Type.Object(
  {
    event_id: Type.Optional(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'One event.' }),
    ),
    since: Type.Optional(Type.String({ maxLength: 40, description: 'All events since this time.' })),
  },
  { title: 'WebhookReplay', examples: [{ since: '2026-01-15T09:00:00.000Z' }] },
);

export const QueuedEvent = Type.Object(
  { message: Type.String(), webhook_id: NullOr(Type.String(), 'The `webhook-id` header of the call.') },
  {
    title: 'QueuedEvent',
    description: 'What is sent.',
    examples: [{ message: 'The event is queued.', webhook_id: 'evt_1_12' }],
  },
);

export const ATTEMPTS_DEFAULT = 50;
export const ATTEMPTS_MAX = 100;

export const AttemptsQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ATTEMPTS_MAX, default: ATTEMPTS_DEFAULT })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'The `next_cursor` of a page.' })),
});

const WebhookAttempt = Type.Object(
  {
    id: Type.Integer(),
    webhook_id: Type.String({ description: 'The `webhook-id` header of every attempt.' }),
    event_id: NullOr(Type.Integer(), 'Null for a test.'),
    type: Type.String(),
    state: DeliveryStateName,
    attempts: Type.Integer(),
    last_code: NullOr(Type.String(), 'What went wrong in the last attempt, such as `HTTP_500` or `TIMEOUT`.'),
    next_attempt_at: NullOr(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
    history: Type.Array(
      Type.Object({ at: Timestamp, state: DeliveryStateName, code: NullOr(Type.String()) }),
      {
        description: 'Its attempts, oldest first.',
      },
    ),
  },
  { title: 'WebhookAttempt' },
);

export const AttemptList = Type.Object(
  { attempts: Type.Array(WebhookAttempt), next_cursor: NullOr(Type.String()) },
  {
    title: 'WebhookAttempts',
    description: 'What was sent to an endpoint, newest first.',
    examples: [
      {
        attempts: [
          {
            id: 31,
            webhook_id: 'evt_1_12',
            event_id: 12,
            type: 'notification.answered',
            state: 'sent',
            attempts: 2,
            last_code: null,
            next_attempt_at: null,
            created_at: '2026-01-15T09:31:00.000Z',
            updated_at: '2026-01-15T09:31:05.300Z',
            history: [
              { at: '2026-01-15T09:31:00.000Z', state: 'queued', code: null },
              { at: '2026-01-15T09:31:00.100Z', state: 'queued', code: 'HTTP_500' },
              { at: '2026-01-15T09:31:05.300Z', state: 'sent', code: null },
            ],
          },
        ],
        next_cursor: null,
      },
    ],
  },
);
