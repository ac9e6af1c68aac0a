-- Triggers only where a statement of the program cannot do it: the versions of notifications and documents change with a
-- change by hand, too, and SQLite's full-text indexes follow their tables. Everything else is written by the statements.
-- "Triggers" in CONTRIBUTING.md lists those that remain.

-- What the rows that are deleted with it take, so that its own trigger knows it: its notes.
alter table notifications add column notes_bytes bigint not null default 0;
-- The same for a document: its wordings, and its versions before this one.
alter table documents add column wordings_bytes bigint not null default 0;
alter table documents add column former_bytes bigint not null default 0;

-- @sqlite
drop trigger notifications_inserted;
drop trigger notifications_updated;
drop trigger notifications_deleted;
drop trigger notifications_searchable_again;
drop trigger documents_inserted;
drop trigger documents_updated;
drop trigger documents_deleted;
drop trigger documents_freed;
drop trigger documents_counted;
drop trigger conversations_counted;
drop trigger conversation_messages_counted;
drop trigger conversation_messages_freed;
drop trigger conversations_searchable_again;
drop trigger notification_notes_counted;
drop trigger notification_notes_freed;
drop trigger notification_notes_searchable;
drop trigger notification_notes_not_searchable;
drop trigger document_wordings_counted;
drop trigger document_wordings_freed;
drop trigger recognitions_counted;
drop trigger sessions_revoked;
-- @postgres
drop trigger notifications_inserted on notifications;
drop trigger notifications_updated on notifications;
drop trigger notifications_deleted on notifications;
drop trigger notifications_asked on notifications;
drop trigger notifications_counted on notifications;
drop trigger notifications_searchable on notifications;
drop trigger documents_changed on documents;
drop trigger documents_freed on documents;
drop trigger documents_counted on documents;
drop trigger conversations_counted on conversations;
drop trigger conversation_messages_counted on conversation_messages;
drop trigger conversation_messages_freed on conversation_messages;
drop trigger conversations_searchable_again on conversations;
drop trigger notification_notes_counted on notification_notes;
drop trigger notification_notes_searchable on notification_notes;
drop trigger document_wordings_counted on document_wordings;
drop trigger recognitions_counted on recognitions;
drop trigger sessions_revoked on sessions;
drop function renew_inboxes();
drop function count_notification();
drop function count_answer(notifications, integer);
drop function quarter_of(text);
drop function add_inbox_change();
drop function renew_live_version();
drop function renew_knowledge();
drop function free_knowledge();
drop function count_deletion();
drop function count_conversations();
drop function count_conversation_messages();
drop function count_notification_notes();
drop function count_wordings();
drop function count_recognition();
drop function note_revoked_session();
-- @both

update notifications set notes_bytes = (
    select sum(octet_length(t.text) + 200) from notification_notes t
      where t.merchant_id = notifications.merchant_id and t.notification_id = notifications.id)
  where exists (select 1 from notification_notes t
    where t.merchant_id = notifications.merchant_id and t.notification_id = notifications.id);
update documents set former_bytes = (
    select coalesce(sum(octet_length(v.title) + octet_length(v.body)), 0) from document_versions v
      where v.merchant_id = documents.merchant_id and v.document_id = documents.id and v.version < documents.version)
  where version > 1;
update documents set wordings_bytes = (
    select sum(octet_length(w.text)) from document_wordings w
      where w.merchant_id = documents.merchant_id and w.document_id = documents.id)
  where exists (select 1 from document_wordings w
    where w.merchant_id = documents.merchant_id and w.document_id = documents.id);

-- A notification counts with its context, its answer, its notes and 400 bytes for its other columns.
-- @sqlite
create trigger notifications_inserted after insert on notifications begin
  insert into inboxes (merchant_id, version, bytes, pending_bytes) values (new.merchant_id, lower(hex(randomblob(12))),
      octet_length(new.context) + coalesce(octet_length(new.answer), 0) + new.notes_bytes + 400,
      case when new.status = 'requested' then octet_length(new.context) + 400 else 0 end)
    on conflict (merchant_id) do update set version = excluded.version, bytes = bytes + excluded.bytes,
      pending_bytes = pending_bytes + excluded.pending_bytes;
end;
create trigger notifications_updated after update on notifications begin
  insert into inboxes (merchant_id, version, bytes, pending_bytes) values (new.merchant_id, lower(hex(randomblob(12))),
      octet_length(new.context) + coalesce(octet_length(new.answer), 0) + new.notes_bytes
        - (octet_length(old.context) + coalesce(octet_length(old.answer), 0) + old.notes_bytes),
      case when new.status = 'requested' then octet_length(new.context) + 400 else 0 end
        - case when old.status = 'requested' then octet_length(old.context) + 400 else 0 end)
    on conflict (merchant_id) do update set version = excluded.version, bytes = bytes + excluded.bytes,
      pending_bytes = pending_bytes + excluded.pending_bytes;
end;
create trigger notifications_deleted after delete on notifications begin
  insert into inboxes (merchant_id, version, bytes, pending_bytes) values (old.merchant_id, lower(hex(randomblob(12))),
      -(octet_length(old.context) + coalesce(octet_length(old.answer), 0) + old.notes_bytes + 400),
      -case when old.status = 'requested' then octet_length(old.context) + 400 else 0 end)
    on conflict (merchant_id) do update set version = excluded.version, bytes = bytes + excluded.bytes,
      pending_bytes = pending_bytes + excluded.pending_bytes;
end;
create trigger notifications_searchable_again
    after update of context, status, answer, assigned_to, notes_bytes on notifications begin
  insert into inbox_changes (merchant_id, notification_id) values (new.merchant_id, new.id);
end;

-- A document counts with its title, its body, its versions before this one and its wordings.
create trigger documents_inserted after insert on documents begin
  insert into live_versions (merchant_id, topic, version, bytes) values (new.merchant_id, 'knowledge',
      lower(hex(randomblob(12))),
      octet_length(new.title) + octet_length(new.body) + new.former_bytes + new.wordings_bytes)
    on conflict (merchant_id, topic) do update set version = excluded.version, bytes = bytes + excluded.bytes;
end;
create trigger documents_updated after update on documents begin
  insert into live_versions (merchant_id, topic, version, bytes) values (new.merchant_id, 'knowledge',
      lower(hex(randomblob(12))),
      octet_length(new.title) + octet_length(new.body) + new.former_bytes + new.wordings_bytes
        - (octet_length(old.title) + octet_length(old.body) + old.former_bytes + old.wordings_bytes))
    on conflict (merchant_id, topic) do update set version = excluded.version, bytes = bytes + excluded.bytes;
end;
create trigger documents_deleted after delete on documents begin
  insert into live_versions (merchant_id, topic, version, bytes, deletions) values (old.merchant_id, 'knowledge',
      lower(hex(randomblob(12))),
      -(octet_length(old.title) + octet_length(old.body) + old.former_bytes + old.wordings_bytes), 1)
    on conflict (merchant_id, topic) do update set version = excluded.version, bytes = bytes + excluded.bytes,
      deletions = deletions + 1;
end;
-- @postgres
-- It calls no function of ours, and each statement names the merchant: on a cluster it runs on the node of the row. A new
-- version and a new number are drawn before the insert: a cluster keeps no plan of a statement that draws them. The inbox
-- comes first, so that others who change the merchant's notifications wait there, in whatever order they come to the
-- counts.
create function notification_changed() returns trigger language plpgsql as $$
declare
  merchant bigint;
  new_version text := replace(gen_random_uuid()::text, '-', '');
  next_seq bigint;
  more_bytes bigint := 0;
  more_pending_bytes bigint := 0;
  is_counted boolean := true;
  is_searched boolean := false;
  counted record;
  sign integer;
begin
  if tg_op <> 'INSERT' then
    merchant := old.merchant_id;
    more_bytes := -(octet_length(old.context) + coalesce(octet_length(old.answer), 0) + old.notes_bytes + 400);
    if old.status = 'requested' then more_pending_bytes := -(octet_length(old.context) + 400); end if;
  end if;
  if tg_op <> 'DELETE' then
    merchant := new.merchant_id;
    more_bytes := more_bytes
      + octet_length(new.context) + coalesce(octet_length(new.answer), 0) + new.notes_bytes + 400;
    if new.status = 'requested' then
      more_pending_bytes := more_pending_bytes + octet_length(new.context) + 400;
    end if;
  end if;
  insert into inboxes (merchant_id, version, bytes, pending_bytes)
    values (merchant, new_version, more_bytes, more_pending_bytes)
    on conflict (merchant_id) do update set version = excluded.version, bytes = inboxes.bytes + excluded.bytes,
      pending_bytes = inboxes.pending_bytes + excluded.pending_bytes;

  if tg_op = 'UPDATE' then
    is_counted := (old.status, old.updated_at, old.answer) is distinct from (new.status, new.updated_at, new.answer);
    is_searched := (old.status, old.assigned_to, old.notes_bytes, old.answer, old.context)
      is distinct from (new.status, new.assigned_to, new.notes_bytes, new.answer, new.context);
  elsif tg_op = 'INSERT' then
    is_searched := true;
  else
    is_counted := old.counted_for_good is null;
  end if;
  if is_searched then
    next_seq := nextval('inbox_changes_seq_seq');
    insert into inbox_changes (merchant_id, seq, notification_id) values (merchant, next_seq, new.id);
  end if;
  if not is_counted then return null; end if;

  if tg_op <> 'UPDATE' then
    if tg_op = 'INSERT' then counted := new; sign := 1; else counted := old; sign := -1; end if;
    insert into statistics_quarters (merchant_id, at, notification_type, asked)
      values (merchant, substr(counted.created_at, 1, 14)
          || substr('00153045', 1 + 2 * (substr(counted.created_at, 15, 2)::integer / 15), 2) || ':00.000Z',
        counted.notification_type, sign)
      on conflict (merchant_id, at, notification_type) do update
        set asked = statistics_quarters.asked + excluded.asked;
  end if;
  -- The answer before is taken back, the one after is counted.
  foreach sign in array array[-1, 1] loop
    if sign = -1 then
      continue when tg_op = 'INSERT' or old.status <> 'answered' or old.answer = '{"cancelled":true}';
      counted := old;
    else
      continue when tg_op = 'DELETE' or new.status <> 'answered' or new.answer = '{"cancelled":true}';
      counted := new;
    end if;
    if counted.answer like '%"resolve_only":true}' then
      insert into statistics_quarters (merchant_id, at, notification_type, resolved)
        values (merchant, substr(counted.updated_at, 1, 14)
            || substr('00153045', 1 + 2 * (substr(counted.updated_at, 15, 2)::integer / 15), 2) || ':00.000Z',
          counted.notification_type, sign)
        on conflict (merchant_id, at, notification_type) do update
          set resolved = statistics_quarters.resolved + excluded.resolved;
    else
      insert into statistics_quarters (merchant_id, at, notification_type, answered)
        values (merchant, substr(counted.updated_at, 1, 14)
            || substr('00153045', 1 + 2 * (substr(counted.updated_at, 15, 2)::integer / 15), 2) || ':00.000Z',
          counted.notification_type, sign)
        on conflict (merchant_id, at, notification_type) do update
          set answered = statistics_quarters.answered + excluded.answered;
      insert into statistics_days (merchant_id, day, what, number, count)
        values (merchant, substr(counted.updated_at, 1, 10), 'seconds', floor(ln(greatest(1.0, extract(epoch
              from counted.updated_at::timestamptz - counted.created_at::timestamptz))::float8) * 5.770780163555854),
            sign),
          (merchant, substr(counted.updated_at, 1, 10),
            case when counted.answered_by_key is null then 'user' else 'key' end,
            coalesce(counted.answered_by_key, counted.answered_by, 0), sign)
        on conflict (merchant_id, day, what, number) do update set count = statistics_days.count + excluded.count;
    end if;
  end loop;
  return null;
end $$;
create trigger notifications_changed after insert or update or delete on notifications
  for each row execute function notification_changed();

-- A document counts with its title, its body, its versions before this one and its wordings.
create function document_changed() returns trigger language plpgsql as $$
declare
  merchant bigint;
  new_version text := replace(gen_random_uuid()::text, '-', '');
  more_bytes bigint := 0;
begin
  if tg_op <> 'INSERT' then
    merchant := old.merchant_id;
    more_bytes := -(octet_length(old.title) + octet_length(old.body) + old.former_bytes + old.wordings_bytes);
  end if;
  if tg_op <> 'DELETE' then
    merchant := new.merchant_id;
    more_bytes := more_bytes
      + octet_length(new.title) + octet_length(new.body) + new.former_bytes + new.wordings_bytes;
  end if;
  insert into live_versions (merchant_id, topic, version, bytes, deletions)
    values (merchant, 'knowledge', new_version, more_bytes,
      case tg_op when 'DELETE' then 1 else 0 end)
    on conflict (merchant_id, topic) do update set version = excluded.version,
      bytes = live_versions.bytes + excluded.bytes, deletions = live_versions.deletions + excluded.deletions;
  return null;
end $$;
create trigger documents_changed after insert or update or delete on documents
  for each row execute function document_changed();
-- @both
