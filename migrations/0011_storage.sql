-- How many bytes a merchant stores, kept in the rows that every change renews anyway. They are compared with its storage
-- allowance, and show that a list of all its notifications, or of all that are pending, is small: then the list is read
-- with one statement.
--
-- A notification counts with its context, its answer and 400 bytes for its other columns; a document with the title and
-- body of each of its versions.

alter table inboxes add column bytes bigint not null default 0;
alter table inboxes add column pending_bytes bigint not null default 0;
alter table live_versions add column bytes bigint not null default 0;

update inboxes set bytes = (
    select coalesce(sum(octet_length(n.context) + coalesce(octet_length(n.answer), 0) + 400), 0)
      from notifications n where n.merchant_id = inboxes.merchant_id),
  pending_bytes = (
    select coalesce(sum(octet_length(n.context) + 400), 0)
      from notifications n where n.merchant_id = inboxes.merchant_id and n.status = 'requested');
update live_versions set bytes = (
  select coalesce(sum(octet_length(v.title) + octet_length(v.body)), 0)
    from document_versions v where v.merchant_id = live_versions.merchant_id)
  where topic = 'knowledge';

-- @sqlite
drop trigger notifications_inserted;
drop trigger notifications_updated;
drop trigger notifications_deleted;
create trigger notifications_inserted after insert on notifications begin
  insert into inboxes (merchant_id, version, bytes, pending_bytes) values (new.merchant_id, lower(hex(randomblob(12))),
      octet_length(new.context) + coalesce(octet_length(new.answer), 0) + 400,
      case when new.status = 'requested' then octet_length(new.context) + 400 else 0 end)
    on conflict (merchant_id) do update set version = excluded.version, bytes = bytes + excluded.bytes,
      pending_bytes = pending_bytes + excluded.pending_bytes;
end;
create trigger notifications_updated after update on notifications begin
  insert into inboxes (merchant_id, version, bytes, pending_bytes) values (new.merchant_id, lower(hex(randomblob(12))),
      octet_length(new.context) + coalesce(octet_length(new.answer), 0) + 400
        - (octet_length(old.context) + coalesce(octet_length(old.answer), 0) + 400),
      case when new.status = 'requested' then octet_length(new.context) + 400 else 0 end
        - case when old.status = 'requested' then octet_length(old.context) + 400 else 0 end)
    on conflict (merchant_id) do update set version = excluded.version, bytes = bytes + excluded.bytes,
      pending_bytes = pending_bytes + excluded.pending_bytes;
end;
create trigger notifications_deleted after delete on notifications begin
  insert into inboxes (merchant_id, version, bytes, pending_bytes) values (old.merchant_id, lower(hex(randomblob(12))),
      -(octet_length(old.context) + coalesce(octet_length(old.answer), 0) + 400),
      -case when old.status = 'requested' then octet_length(old.context) + 400 else 0 end)
    on conflict (merchant_id) do update set version = excluded.version, bytes = bytes + excluded.bytes,
      pending_bytes = pending_bytes + excluded.pending_bytes;
end;

drop trigger documents_inserted;
drop trigger documents_updated;
create trigger documents_inserted after insert on documents begin
  insert into live_versions (merchant_id, topic, version, bytes) values (new.merchant_id, 'knowledge',
      lower(hex(randomblob(12))), octet_length(new.title) + octet_length(new.body))
    on conflict (merchant_id, topic) do update set version = excluded.version, bytes = bytes + excluded.bytes;
end;
create trigger documents_updated after update on documents begin
  insert into live_versions (merchant_id, topic, version, bytes) values (new.merchant_id, 'knowledge',
      lower(hex(randomblob(12))),
      case when new.version = old.version then 0 else octet_length(new.title) + octet_length(new.body) end)
    on conflict (merchant_id, topic) do update set version = excluded.version, bytes = bytes + excluded.bytes;
end;
-- Before the delete, because its versions are deleted with the document.
create trigger documents_freed before delete on documents begin
  update live_versions set bytes = bytes - (
      select coalesce(sum(octet_length(title) + octet_length(body)), 0) from document_versions
        where merchant_id = old.merchant_id and document_id = old.id)
    where merchant_id = old.merchant_id and topic = 'knowledge';
end;
-- @postgres
create or replace function renew_inboxes() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    insert into inboxes (merchant_id, version, bytes, pending_bytes)
      select merchant_id, replace(gen_random_uuid()::text, '-', ''),
          sum(sign * (octet_length(context) + coalesce(octet_length(answer), 0) + 400)),
          coalesce(sum(sign * (octet_length(context) + 400)) filter (where status = 'requested'), 0)
        from (select 1 as sign, merchant_id, status, context, answer from changed
          union all select -1, merchant_id, status, context, answer from former) rows
        group by merchant_id order by merchant_id
      on conflict (merchant_id) do update set version = excluded.version, bytes = inboxes.bytes + excluded.bytes,
        pending_bytes = inboxes.pending_bytes + excluded.pending_bytes;
  else
    insert into inboxes (merchant_id, version, bytes, pending_bytes)
      select merchant_id, replace(gen_random_uuid()::text, '-', ''),
          (case tg_op when 'INSERT' then 1 else -1 end)
            * sum(octet_length(context) + coalesce(octet_length(answer), 0) + 400),
          (case tg_op when 'INSERT' then 1 else -1 end)
            * coalesce(sum(octet_length(context) + 400) filter (where status = 'requested'), 0)
        from changed group by merchant_id order by merchant_id
      on conflict (merchant_id) do update set version = excluded.version, bytes = inboxes.bytes + excluded.bytes,
        pending_bytes = inboxes.pending_bytes + excluded.pending_bytes;
  end if;
  return null;
end $$;
drop trigger notifications_updated on notifications;
create trigger notifications_updated after update on notifications
  referencing old table as former new table as changed for each statement execute function renew_inboxes();

create function renew_knowledge() returns trigger language plpgsql as $$
begin
  insert into live_versions (merchant_id, topic, version, bytes)
    values (case when tg_op = 'DELETE' then old.merchant_id else new.merchant_id end, 'knowledge',
      replace(gen_random_uuid()::text, '-', ''),
      case when tg_op = 'INSERT' or tg_op = 'UPDATE' and new.version <> old.version
        then octet_length(new.title) + octet_length(new.body) else 0 end)
    on conflict (merchant_id, topic) do update
      set version = excluded.version, bytes = live_versions.bytes + excluded.bytes;
  return null;
end $$;
drop trigger documents_changed on documents;
create trigger documents_changed after insert or update or delete on documents
  for each row execute function renew_knowledge();

create function free_knowledge() returns trigger language plpgsql as $$
begin
  update live_versions set bytes = bytes - (
      select coalesce(sum(octet_length(title) + octet_length(body)), 0) from document_versions
        where merchant_id = old.merchant_id and document_id = old.id)
    where merchant_id = old.merchant_id and topic = 'knowledge';
  return old;
end $$;
-- Before the delete, because its versions are deleted with the document.
create trigger documents_freed before delete on documents for each row execute function free_knowledge();
-- @both
