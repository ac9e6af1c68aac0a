-- The new delivery queue: one row per merchant says when its next message is due, replies and campaigns have separate
-- lanes, and every attempt has its channel.

-- Phone numbers without a country code are read as numbers of this country.
alter table merchants add column country text;

-- When the merchant's next message is due, or earlier. Workers look here first, so a merchant's turn costs the same
-- no matter how much it has queued. The version is a new random value after every change that the merchant can see.
create table delivery_queues (
  merchant_id bigint primary key references merchants (id) on delete cascade,
  due_at text not null,
  version text not null
);
create index delivery_queues_due on delivery_queues (due_at);
-- @postgres
-- Every message changes this row a few times: old versions must not accumulate in the index.
alter table delivery_queues set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
-- @both

-- These wrote live_versions, which delivery_queues replaces for deliveries.
-- @sqlite
drop trigger deliveries_inserted;
drop trigger deliveries_updated;
-- @postgres
drop trigger deliveries_inserted on deliveries;
drop trigger deliveries_updated on deliveries;
-- @both
delete from live_versions where topic = 'deliveries';

-- @sqlite
-- SQLite cannot change a check, so the table is copied.
create table deliveries_rebuilt (
  id integer primary key autoincrement,
  merchant_id bigint not null references merchants (id),
  -- The same for every attempt. The channel receives it, and returns it with each status.
  key text not null unique,
  -- No foreign key: a queued message is still delivered when its notification is deleted.
  notification_id bigint not null,
  conversation_id bigint not null,
  -- The conversation's reference and the notification's context, as they were when it was answered.
  reference text,
  context text not null,
  recipient text not null,
  mode text not null check (mode in ('reply', 'campaign')),
  content text not null,
  state text not null default 'queued'
    check (state in ('queued', 'sending', 'waiting', 'sent', 'delivered', 'read', 'failed', 'cancelled')),
  -- 'limit' or 'customer', while it is waiting.
  waiting_for text,
  -- Why it waits or failed, for the merchant to read.
  reason text,
  attempts integer not null default 0,
  -- When to look at it next: the end of the lease while it is being sent, never while it is blocked.
  due_at text not null,
  -- The channel of the last attempt.
  channel_id text,
  -- Since when it is unknown whether the last attempt was sent.
  unsettled_since text,
  last_code text,
  channel_message_id text,
  -- 1 if it counts towards the daily limit: a campaign, or a reply that must be sent as a template.
  uses_quota integer not null default 0,
  created_at text not null,
  updated_at text not null,
  unique (merchant_id, id)
);
insert into deliveries_rebuilt (id, merchant_id, key, notification_id, conversation_id, reference, context, recipient,
    mode, content, state, waiting_for, reason, attempts, due_at, unsettled_since, last_code, channel_message_id,
    uses_quota, created_at, updated_at)
  select d.id, d.merchant_id, d.key, d.notification_id, d.conversation_id,
    (select c.reference from conversations c where c.merchant_id = d.merchant_id and c.id = d.conversation_id),
    coalesce((select n.context from notifications n where n.merchant_id = d.merchant_id and n.id = d.notification_id), '{}'),
    d.recipient, d.mode, d.content, d.state, d.waiting_for, d.reason, d.attempts, d.due_at, d.unsettled_since,
    d.last_code, d.channel_message_id, d.needs_place, d.created_at, d.updated_at
  from deliveries d;
drop table deliveries;
alter table deliveries_rebuilt rename to deliveries;
create index deliveries_state on deliveries (merchant_id, state, id desc);
create index deliveries_message on deliveries (channel_message_id) where channel_message_id is not null;
create index deliveries_notification on deliveries (merchant_id, notification_id);
-- @postgres
alter table deliveries rename column needs_place to uses_quota;
alter table deliveries drop column taken_over;
alter table deliveries add column channel_id text;
alter table deliveries add column reference text;
alter table deliveries add column context text not null default '{}';
-- Only messages that may still be sent need them.
update deliveries d set
    reference = (select c.reference from conversations c where c.merchant_id = d.merchant_id and c.id = d.conversation_id),
    context = coalesce((select n.context from notifications n where n.merchant_id = d.merchant_id and n.id = d.notification_id), '{}')
  where d.state in ('queued', 'sending', 'waiting', 'failed');
alter table deliveries alter column context drop default;
alter table deliveries drop constraint deliveries_state_check;
alter table deliveries add constraint deliveries_state_check check (
  state in ('queued', 'sending', 'waiting', 'sent', 'delivered', 'read', 'failed', 'cancelled'));
drop index deliveries_due;
drop index deliveries_customer;
drop index deliveries_waiting;
-- @both
-- What a merchant's turn reads: due replies, due campaigns, and which message is the first of its lane.
create index deliveries_due on deliveries (merchant_id, mode, due_at, id)
  where state in ('queued', 'sending', 'waiting');
create index deliveries_lane on deliveries (merchant_id, recipient, mode, id)
  where state in ('queued', 'sending', 'waiting');
-- To find the merchants with messages that wait for a customer to write.
create index deliveries_waiting on deliveries (recipient, merchant_id) where state = 'waiting';
create index deliveries_quota on deliveries (merchant_id, id, recipient)
  where uses_quota = 1 and state in ('queued', 'sending', 'waiting');
create index deliveries_reached on deliveries (merchant_id, recipient, updated_at) where uses_quota = 1;

-- Blocked: an earlier message of the same lane is still open. It becomes due when that one is finished.
update deliveries set due_at = '9999-12-31T00:00:00.000Z'
  where state = 'queued' and exists (
    select 1 from deliveries e where e.merchant_id = deliveries.merchant_id and e.recipient = deliveries.recipient
      and e.mode = deliveries.mode and e.id < deliveries.id and e.state in ('queued', 'sending', 'waiting'));
insert into delivery_queues (merchant_id, due_at, version)
  select merchant_id,
    coalesce(min(case when state in ('queued', 'sending', 'waiting') then due_at end), '9999-12-31T00:00:00.000Z'),
    'migrated'
  from deliveries group by merchant_id;

-- The channel of each attempt, next to its result.
alter table delivery_events add column channel_id text;
-- @postgres
alter table delivery_events add primary key (merchant_id, delivery_id, id);
drop index delivery_events_delivery;
-- @both

-- 'refused': the channel refuses everything we send. 'not_answering': its circuit breaker is open until the next probe.
alter table channel_stops add column kind text not null default 'refused';
alter table channel_stops add column probes integer not null default 0;

-- The sending rate of WhatsApp numbers, shared by all workers. recipient is a customer's number, or '' for the row of
-- the number itself; free_at_ms is the time from which it is free again, in milliseconds since 1970.
create table send_pace (
  channel_id text not null,
  recipient text not null,
  free_at_ms bigint not null,
  primary key (channel_id, recipient)
);
create index send_pace_idle on send_pace (free_at_ms);

-- Channels that merchants have replaced. Their webhooks still report on what they sent.
create table former_channels (
  merchant_id bigint not null references merchants (id) on delete cascade,
  replaced_at text not null,
  channel text not null,
  sealed_settings text,
  primary key (merchant_id, replaced_at)
);
create index former_channels_replaced on former_channels (replaced_at);

-- For clean-up, and for releasing the daily quota of a failed message.
create index inbound_updates_done on inbound_updates (done_at) where done_at is not null;
create index customer_windows_opened on customer_windows (opened_at);
create index reached_customers_delivery on reached_customers (merchant_id, delivery_key);
