import { COPIED, DAY_MS, ONLY_IDS, PASSING, plain, SECRETS, server, type Table } from '../database/tables.ts';

/** The queue also has events for webhook endpoints and devices. */
export const DELIVERIES: Table = {
  ...{ name: 'deliveries', line: 'delivery' },
  exported: 'id notification_id conversation_id recipient mode content state sent_by created_at',
  internal:
    'key reference context waiting_for reason attempts due_at channel_id unsettled_since last_code channel_message_id ' +
    'uses_quota updated_at endpoint_id reply_to reply_to_message requeued_at attention_at traceparent',
  where: 'endpoint_id = 0',
  customer: { rows: 'conversation_id = :whose', erase: 'eraseMessages' },
  user: { because: ONLY_IDS, erase: { sent_by: 'rename', content: 'rename in JSON' } },
  kept: [{ for: 'deliveries' }, { for: 'events' }],
  stores: { row: 200, texts: 'content', where: 'endpoint_id = 0 and notification_id = 0' },
};

export const MESSAGE_TABLES: readonly Table[] = [
  plain('delivery_queues', 'endpoint_id', 'endpoint_id due_at version', PASSING),
  DELIVERIES,
  {
    ...{ name: 'delivery_events', key: 'delivery_id id', line: 'delivery_event' },
    exported: 'delivery_id id at state code note',
    internal: 'channel_id',
    where:
      '(select d.endpoint_id from deliveries d where d.merchant_id = :merchant and d.id = delivery_id) = 0',
    customer: {
      rows: `delivery_id in (
        select d.id from deliveries d where d.merchant_id = :merchant and d.conversation_id = :whose and d.endpoint_id = 0)`,
      erase: 'with',
    },
  },
  {
    ...{ name: 'simulator_messages', line: 'test_phone_message' },
    exported: 'id phone from_customer content at read_at',
    internal: 'delivery_key',
    because: COPIED,
    customer: { rows: 'phone = :whose', erase: 'eraseNumber' },
  },
  {
    ...{ name: 'reached_customers', key: 'recipient', line: 'reached' },
    exported: 'recipient reached_at',
    internal: 'delivery_key',
    because: PASSING,
    customer: { rows: 'recipient = :whose', erase: 'eraseNumber' },
    // Only the last 24 hours count towards the daily limit.
    kept: [{ since: 'reached_at', for: 2 * DAY_MS }],
  },
];

/** A provider repeats for seven days what was not acknowledged. */
const REPEATED_MS = 8 * DAY_MS;

/** After the customers: they say in which channels their numbers are known. */
export const CHANNEL_TABLES: readonly Table[] = [
  plain('channel_settings', 'merchant_id', 'channel sealed_settings daily_limit updated_at', SECRETS),
  {
    ...plain('former_channels', 'replaced_at', 'replaced_at channel sealed_settings', PASSING),
    kept: [{ since: 'replaced_at', for: REPEATED_MS }],
  },
  server('channel_stops', 'channel_id', 'channel_id code stopped_at until kind probes'),
  {
    ...{ name: 'customer_windows', of: 'server', key: 'channel_id phone', line: 'wrote_last' },
    exported: 'channel_id phone opened_at',
    because: PASSING,
    customer: { rows: 'channel_id = :channel and phone = :whose', erase: 'eraseNumber' },
    kept: [{ since: 'opened_at', for: REPEATED_MS }],
  },
  {
    ...server('send_pace', 'channel_id recipient', 'channel_id recipient free_at_ms'),
    customer: { because: PASSING, erase: 'eraseNumber' },
    kept: [{ since: 'free_at_ms' }],
  },
  {
    ...server('inbound_updates', 'id', 'id channel_id payload received_at done_at'),
    customer: { because: PASSING, erase: 'stays' },
    kept: [{ since: 'done_at', for: REPEATED_MS }],
  },
];
