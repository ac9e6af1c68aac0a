import { COPIED, plain, type Table } from '../database/tables.ts';

/** What an event has of people. New ones get their positions before anything is erased. */
const PEOPLE = {
  customer: { because: COPIED, erase: 'eraseEvents' },
  user: { because: COPIED, erase: { content: 'rename in JSON' } },
} as const;

export const EVENT_TABLES: readonly Table[] = [
  { ...plain('new_events', 'seq', 'seq type at notification_id data content', COPIED), ...PEOPLE },
  {
    ...plain('events', 'position', 'position type at notification_id data content', COPIED),
    ...PEOPLE,
    kept: [{ since: 'at', for: 'events' }],
  },
  plain('event_logs', 'merchant_id', 'last_position', COPIED),
];
