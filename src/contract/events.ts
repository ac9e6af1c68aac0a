import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';
import { waitSeconds } from './live.ts';
import type { Scope } from './machineKeys.ts';

/** Every type of event, with the scopes of which a key needs one to see it. A new type is one entry here. */
const OF_NOTIFICATIONS: readonly Scope[] = ['ask', 'notifications:read', 'webhooks'];
/** What colleagues do among themselves is not for the assistant that asked. */
const OF_THE_TEAM: readonly Scope[] = ['notifications:read', 'webhooks'];
export const EVENT_TYPES = {
  'notification.requested': OF_NOTIFICATIONS,
  'notification.answered': OF_NOTIFICATIONS,
  'notification.resolved': OF_NOTIFICATIONS,
  'notification.reopened': OF_NOTIFICATIONS,
  'notification.deleted': OF_NOTIFICATIONS,
  'notification.expired': OF_NOTIFICATIONS,
  'notification.cancelled': OF_NOTIFICATIONS,
  'notification.assigned': OF_THE_TEAM,
  'notification.noted': OF_THE_TEAM,
  'delivery.sent': OF_NOTIFICATIONS,
  'delivery.delivered': OF_NOTIFICATIONS,
  'delivery.read': OF_NOTIFICATIONS,
  'delivery.failed': OF_NOTIFICATIONS,
  'delivery.needs_attention': OF_NOTIFICATIONS,
  'message.received': OF_NOTIFICATIONS,
  'conversation.taken_over': OF_NOTIFICATIONS,
  'conversation.handed_back': OF_NOTIFICATIONS,
  'knowledge.updated': ['knowledge:read', 'webhooks'],
} as const satisfies Record<string, readonly Scope[]>;
export type EventType = keyof typeof EVENT_TYPES;
export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventType[];

/** The parts of `data` that are texts. */
export const TEXT_FIELDS = ['answer', 'answered_by', 'text'] as const;

/** A key needs one of these to see texts: answers, and what customers wrote. */
export const CONTENT_SCOPES: readonly Scope[] = ['ask', 'notifications:read'];

export const Event = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: 'Grows with every event of the merchant.' }),
    type: Type.Enum(EVENT_TYPE_NAMES, { title: 'EventType' }),
    timestamp: Timestamp,
    data: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Ids and states, `reference` and `metadata` of the question, and `answer` or `text` for callers that may read them.',
    }),
  },
  {
    title: 'Event',
    description: 'Something that happened.',
    examples: [
      {
        id: 17,
        type: 'notification.answered',
        timestamp: '2026-01-15T09:31:00.000Z',
        data: {
          notification_id: 10,
          conversation_id: 1,
          status: 'answered',
          reference: 'run-42',
          metadata: { thread: 'abc' },
          answer: 'Yes, choose it at checkout.',
          answered_by: 'Alma Reyes',
        },
      },
    ],
  },
);
export type Event = Static<typeof Event>;

export const LOG_LIMIT = { default: 100, max: 500 };
const limit = { minimum: 1, maximum: LOG_LIMIT.max, default: LOG_LIMIT.default };

export const EventLogQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({ minimum: 0, default: 0, description: 'The id of the last event that you have.' }),
  ),
  limit: Type.Optional(Type.Integer(limit)),
  wait: waitSeconds('How many seconds to wait for an event if there is none.'),
});

export const EventLog = Type.Object(
  {
    events: Type.Array(Event),
    last_id: Type.Integer({ description: 'Send it as `after` next time.' }),
    more: Type.Boolean({ description: 'True if there are more events now.' }),
  },
  {
    title: 'EventLog',
    description:
      'Events after `after`, oldest first. They are kept for 30 days, unless the server has another setting.',
    examples: [{ events: [], last_id: 17, more: false }],
  },
);
