-- Messages that have begun to need attention: each is an event once.

-- When that event was written. Null again when a person sends the message again.
alter table deliveries add column attention_at text;
-- Open messages without that event, by the time since which they wait. A message that is sent at once is in it for moments.
create index deliveries_unnoticed on deliveries ((coalesce(requeued_at, created_at)), id)
  where endpoint_id = 0 and attention_at is null and state in ('queued', 'sending', 'waiting');
