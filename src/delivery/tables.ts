import { COPIED, DAY_MS, ONLY_IDS, PASSING, SECRETS, type Table } from '../database/tables.ts';

/** The queue also has events for webhook endpoints and devices. */
const IS_MESSAGE = 'endpoint_id = 0';

export const MESSAGE_TABLES: readonly Table[] = [
  {
    name: 'delivery_queues',
    key: 'endpoint_id',
    internal: 'merchant_id endpoint_id due_at version',
    because: PASSING,
  },
  {
    name: 'deliveries',
    exported: 'id notification_id conversation_id recipient mode content state sent_by created_at',
    internal:
      'merchant_id key reference context waiting_for reason attempts due_at channel_id unsettled_since last_code ' +
      'channel_message_id uses_quota updated_at endpoint_id reply_to reply_to_message requeued_at attention_at traceparent',
    where: IS_MESSAGE,
    merchant: { line: 'delivery' },
    customer: { line: 'delivery', rows: 'conversation_id = :whose', erase: 'eraseMessages' },
    because: ONLY_IDS,
    user: { erase: { sent_by: 'rename', content: 'rename in JSON' } },
    kept: [{ for: 'deliveries' }, { for: 'events' }],
    stores: { row: 200, texts: 'content', where: `${IS_MESSAGE} and notification_id = 0` },
  },
  {
    name: 'delivery_events',
    key: 'delivery_id id',
    exported: 'delivery_id id at state code note',
    internal: 'merchant_id channel_id',
    where: `(select d.endpoint_id from deliveries d where d.merchant_id = :merchant and d.id = delivery_id) = 0`,
    merchant: { line: 'delivery_event' },
    customer: {
      line: 'delivery_event',
      rows: `delivery_id in (select d.id from deliveries d
        where d.merchant_id = :merchant and d.conversation_id = :whose and d.endpoint_id = 0)`,
      erase: 'with',
    },
  },
  {
    name: 'simulator_messages',
    exported: 'id phone from_customer content at read_at',
    internal: 'merchant_id delivery_key',
    because: COPIED,
    customer: { line: 'test_phone_message', by: 'phone', rows: 'phone = :whose', erase: 'eraseNumber' },
  },
  {
    name: 'reached_customers',
    key: 'recipient',
    exported: 'recipient reached_at',
    internal: 'merchant_id delivery_key',
    because: PASSING,
    customer: { line: 'reached', by: 'phone', rows: 'recipient = :whose', erase: 'eraseNumber' },
    // Only the last 24 hours count towards the daily limit.
    kept: [{ since: 'reached_at', for: 2 * DAY_MS }],
  },
];

/** A provider repeats for seven days what was not acknowledged. */
const REPEATED_MS = 8 * DAY_MS;

/** After the customers: they say in which channels their numbers are known. */
export const CHANNEL_TABLES: readonly Table[] = [
  {
    name: 'channel_settings',
    key: 'merchant_id',
    internal: 'merchant_id channel sealed_settings daily_limit updated_at',
    because: SECRETS,
  },
  {
    name: 'former_channels',
    key: 'replaced_at',
    internal: 'merchant_id replaced_at channel sealed_settings',
    because: PASSING,
    kept: [{ since: 'replaced_at', for: REPEATED_MS }],
  },
  {
    name: 'channel_stops',
    of: 'server',
    key: 'channel_id',
    internal: 'channel_id code stopped_at until kind probes',
  },
  {
    name: 'customer_windows',
    of: 'server',
    key: 'channel_id phone',
    exported: 'channel_id phone opened_at',
    customer: {
      line: 'wrote_last',
      by: 'channel',
      rows: 'channel_id = :channel and phone = :whose',
      erase: 'eraseNumber',
    },
    kept: [{ since: 'opened_at', for: REPEATED_MS }],
  },
  {
    name: 'send_pace',
    of: 'server',
    key: 'channel_id recipient',
    internal: 'channel_id recipient free_at_ms',
    because: PASSING,
    customer: { erase: 'eraseNumber' },
    kept: [{ since: 'free_at_ms' }],
  },
  {
    name: 'inbound_updates',
    of: 'server',
    internal: 'id channel_id payload received_at done_at',
    because: PASSING,
    customer: { erase: 'stays' },
    kept: [{ since: 'done_at', for: REPEATED_MS }],
  },
];
