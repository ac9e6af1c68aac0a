-- Versions for live updates. Like the inbox, a merchant's deliveries and its documents each have a version. It is a new
-- random value after every change, from any program.
create table live_versions (
  merchant_id bigint not null references merchants (id) on delete cascade,
  topic text not null check (topic in ('deliveries', 'knowledge')),
  version text not null,
  primary key (merchant_id, topic)
);

-- Not for 'sending': this state is short, and a worker claims for many merchants in one statement, which must not wait
-- for the rows of each merchant.
-- @sqlite
create trigger deliveries_inserted after insert on deliveries begin
  insert into live_versions (merchant_id, topic, version)
    values (new.merchant_id, 'deliveries', lower(hex(randomblob(12))))
    on conflict (merchant_id, topic) do update set version = excluded.version;
end;
create trigger deliveries_updated after update of state on deliveries when new.state <> 'sending' begin
  insert into live_versions (merchant_id, topic, version)
    values (new.merchant_id, 'deliveries', lower(hex(randomblob(12))))
    on conflict (merchant_id, topic) do update set version = excluded.version;
end;
create trigger documents_inserted after insert on documents begin
  insert into live_versions (merchant_id, topic, version)
    values (new.merchant_id, 'knowledge', lower(hex(randomblob(12))))
    on conflict (merchant_id, topic) do update set version = excluded.version;
end;
create trigger documents_updated after update on documents begin
  insert into live_versions (merchant_id, topic, version)
    values (new.merchant_id, 'knowledge', lower(hex(randomblob(12))))
    on conflict (merchant_id, topic) do update set version = excluded.version;
end;
create trigger documents_deleted after delete on documents begin
  insert into live_versions (merchant_id, topic, version)
    values (old.merchant_id, 'knowledge', lower(hex(randomblob(12))))
    on conflict (merchant_id, topic) do update set version = excluded.version;
end;
-- @postgres
create function renew_live_version() returns trigger language plpgsql as $$
begin
  insert into live_versions (merchant_id, topic, version)
    values (case when tg_op = 'DELETE' then old.merchant_id else new.merchant_id end, tg_argv[0],
      replace(gen_random_uuid()::text, '-', ''))
    on conflict (merchant_id, topic) do update set version = excluded.version;
  return null;
end $$;
create trigger deliveries_inserted after insert on deliveries
  for each row execute function renew_live_version('deliveries');
create trigger deliveries_updated after update of state on deliveries
  for each row when (new.state <> 'sending') execute function renew_live_version('deliveries');
create trigger documents_changed after insert or update or delete on documents
  for each row execute function renew_live_version('knowledge');
-- @both

-- To find what was answered in a period, for the statistics.
create index notifications_answered on notifications (merchant_id, updated_at) where status = 'answered';
