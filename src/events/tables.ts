import { COPIED, type Table } from '../database/tables.ts';

const EVENT = {
  because: COPIED,
  customer: { erase: 'eraseEvents' },
  user: { erase: { content: 'rename in JSON' } },
} as const;

export const EVENT_TABLES: readonly Table[] = [
  // Events get their positions before anything is erased.
  {
    name: 'new_events',
    key: 'seq',
    internal: 'seq merchant_id type at notification_id data content',
    ...EVENT,
  },
  {
    name: 'events',
    key: 'position',
    internal: 'merchant_id position type at notification_id data content',
    ...EVENT,
    kept: [{ since: 'at', for: 'events' }],
  },
  { name: 'event_logs', key: 'merchant_id', internal: 'merchant_id last_position', because: COPIED },
];
