/**
 * The statements that read the rows of many merchants, and why they may. Such a read visits every node, so none is part of
 * what one merchant's request does.
 */
export const READS_ACROSS: readonly { statement: RegExp; why: string }[] = [
  {
    statement:
      /^select [\w, ]+ from \w+ where (topic = '\w+' and )?merchant_id = any\(cast\(\$1 as bigint\[\]\)\)( and endpoint_id = 0)?$/,
    why: 'versions for all requests of a moment: visits only the nodes of their merchants',
  },
  {
    statement:
      /^select [\w, ]+ as sealed from \w+ where \([\w, ]+\) > \([$\d, ]+\) order by [\w, ]+ limit \d+$/,
    why: 'in the background: encrypts everything again with another key',
  },
  // Deliveries.
  {
    statement:
      /^select merchant_id, endpoint_id, due_at from delivery_queues where due_at <= \$1 and \(due_at, /,
    why: 'the delivery worker looks for queues that are due',
  },
  {
    statement: /^select due_at from delivery_queues where due_at < \$1 and .* order by due_at limit 1$/,
    why: 'the delivery worker sleeps until the next is due',
  },
  {
    statement:
      /^select q\.merchant_id, q\.endpoint_id from delivery_queues q where q\.due_at > \$1 and exists/,
    why: 'the delivery worker looks for queues that are due too late',
  },
  {
    statement:
      /^select merchant_id, id, state, coalesce\(requeued_at, created_at\) as since from deliveries where endpoint_id = 0/,
    why: 'the delivery worker looks for messages that need attention',
  },
  {
    statement:
      /^select merchant_id, id from deliveries where endpoint_id > 0 and created_at < \$1 and state not in/,
    why: 'the clean-up looks for old webhook events',
  },
  {
    statement:
      /^select (q\.merchant_id|q\.due_at|count\(\*\) as open)\b.* from (delivery_queues q|\( select 1 from deliveries) where/,
    why: 'metrics',
  },
  {
    statement: /^select id, merchant_id, channel_id from deliveries where (key|channel_message_id) = \$1$/,
    why: 'what WhatsApp reports names no merchant; the background processes it',
  },
  {
    statement:
      /^select (distinct merchant_id from (deliveries|conversations) where .* order by merchant_id|merchant_id, max\(id\) as id from conversations where customer_phone = \$1 group by merchant_id)$/,
    why: 'a customer who wrote, or is erased, may be known to several merchants; in the background',
  },
  {
    statement:
      /^select merchant_id, ('' as )?replaced_at, sealed_settings from (channel_settings|former_channels) where /,
    why: 'the channels of all merchants, read once',
  },
  // Notifications and asks.
  {
    statement:
      /^select \+merchant_id as merchant_id from notifications where undo_until is not null and undo_until <= \$1/,
    why: 'the background looks for held answers that are due',
  },
  {
    statement: /^select merchant_id, id from asks where status = 'waiting' and expires_at <= \$1 and exists/,
    why: 'the background looks for asks that expire',
  },
  {
    statement:
      /^select count\(\*\) as (overdue from notifications where undo_until|waiting from \(select 1 from asks where)/,
    why: 'metrics',
  },
  {
    statement:
      /^select merchant_id from (inbox_changes|confidence) where merchant_id > \$1 order by merchant_id limit (1|100)$/,
    why: 'the background goes from merchant to merchant',
  },
  // Events, webhooks and alerts.
  {
    statement:
      /^select merchant_id, (id, )?position(, replay_position)? from (webhook_endpoints|alert_logs) where /,
    why: 'the background looks for endpoints and alert logs with new events',
  },
  {
    statement:
      /^select (min\(oldest\) as oldest from \( select .* from webhook_endpoints w|count\(\*\) as stopped from webhook_endpoints) /,
    why: 'metrics',
  },
  {
    statement:
      /^select merchant_id, user_id, mail_due_at, .* from alert_settings where mail_due_at is not null and /,
    why: 'the background looks for alert mails that are due',
  },
  {
    statement:
      /^select merchant_id as id, case when count.* from new_events where merchant_id = any\(.*\) group by merchant_id$/,
    why: 'the background looks for merchants with many or old events without a position, a page of merchants at a time',
  },
  {
    statement: /^select merchant_id, id, user_id from push_subscriptions where fingerprint = \$1 limit 100$/,
    why: 'a browser that turns alerts on may have been somebody else’s, of any merchant: rare, by an index',
  },
  // Mails, erasures and vectors.
  {
    statement:
      /^select id from mails where recipient = \$1 and kind = \$2 and created_at > \$3 order by created_at limit 1 offset \$4$/,
    why: 'how many mails somebody got from all merchants: once for each mail, by an index',
  },
  {
    statement:
      /^select (due_at|merchant_id, id, kind, due_at, attempts, expires_at) from mails where state = 'queued' /,
    why: 'the mail sender looks for mails that are due',
  },
  {
    statement: /^select id, merchant_id, person, step, due_at, created_at from erasures where due_at <= \$1 /,
    why: 'the background looks for erasures that are due',
  },
  {
    statement:
      /^select (v\.merchant_id, v\.version|count\(\*\) as count) from live_versions v left join vector_progress p on p\.merchant_id = v\.merchant_id where /,
    why: 'the background looks for merchants whose documents need vectors, and counts them for metrics',
  },
  // Keys, and the clean-up.
  {
    statement: /^select id, merchant_id, name, scopes, expires_at from machine_keys where hash = \$1 /,
    why: 'a key names no merchant: once for each key and process, then it is remembered for a while',
  },
  {
    statement: /^select merchant_id from \w+ where (\w+) < \$1 (and [^(]+ )?order by \1 limit 1000$/,
    why: 'the clean-up looks for merchants with expired rows, and removes those of one after another',
  },
];
