-- The statistics count by the column that says how a notification ended, not by the end of its answer.
-- @sqlite
drop trigger notifications_asked;
drop trigger notifications_counted;
drop trigger notifications_uncounted;
drop trigger answers_counted;
drop view counted_answers;

-- An insert into this view counts an answer (sign 1) or takes it back (sign -1).
create view counted_answers as select 0 as sign, merchant_id, notification_type, created_at, updated_at, answer, outcome,
    answered_by, answered_by_key from notifications where false;
create trigger answers_counted instead of insert on counted_answers
    when new.outcome is not null and new.answer <> '{"cancelled":true}' begin
  insert into statistics_quarters (merchant_id, at, notification_type, answered, resolved)
    values (new.merchant_id, substr(new.updated_at, 1, 14)
        || substr('00153045', 1 + 2 * (cast(substr(new.updated_at, 15, 2) as integer) / 15), 2) || ':00.000Z',
      new.notification_type, case new.outcome when 'answered' then new.sign else 0 end,
      case new.outcome when 'resolved' then new.sign else 0 end)
    on conflict (merchant_id, at, notification_type) do update
      set answered = answered + excluded.answered, resolved = resolved + excluded.resolved;
  insert into statistics_days (merchant_id, day, what, number, count)
    select new.merchant_id, substr(new.updated_at, 1, 10), 'seconds', cast(ln(max(1.0,
        unixepoch(new.updated_at, 'subsec') - unixepoch(new.created_at, 'subsec'))) * 5.770780163555854 as integer),
        new.sign
      where new.outcome = 'answered'
    on conflict (merchant_id, day, what, number) do update set count = count + excluded.count;
  insert into statistics_days (merchant_id, day, what, number, count)
    select new.merchant_id, substr(new.updated_at, 1, 10),
        case when new.answered_by_key is null then 'user' else 'key' end,
        coalesce(new.answered_by_key, new.answered_by, 0), new.sign
      where new.outcome = 'answered'
    on conflict (merchant_id, day, what, number) do update set count = count + excluded.count;
end;
create trigger notifications_asked after insert on notifications begin
  insert into statistics_quarters (merchant_id, at, notification_type, asked)
    values (new.merchant_id, substr(new.created_at, 1, 14)
        || substr('00153045', 1 + 2 * (cast(substr(new.created_at, 15, 2) as integer) / 15), 2) || ':00.000Z',
      new.notification_type, 1)
    on conflict (merchant_id, at, notification_type) do update set asked = asked + 1;
  insert into counted_answers values (1, new.merchant_id, new.notification_type, new.created_at, new.updated_at,
    new.answer, new.outcome, new.answered_by, new.answered_by_key);
end;
create trigger notifications_counted after update of status, answer, updated_at on notifications
    when old.outcome is not null or new.outcome is not null begin
  insert into counted_answers values (-1, old.merchant_id, old.notification_type, old.created_at, old.updated_at,
    old.answer, old.outcome, old.answered_by, old.answered_by_key);
  insert into counted_answers values (1, new.merchant_id, new.notification_type, new.created_at, new.updated_at,
    new.answer, new.outcome, new.answered_by, new.answered_by_key);
end;
create trigger notifications_uncounted after delete on notifications when old.counted_for_good is null begin
  update statistics_quarters set asked = asked - 1
    where merchant_id = old.merchant_id and notification_type = old.notification_type
      and at = substr(old.created_at, 1, 14)
        || substr('00153045', 1 + 2 * (cast(substr(old.created_at, 15, 2) as integer) / 15), 2) || ':00.000Z';
  insert into counted_answers values (-1, old.merchant_id, old.notification_type, old.created_at, old.updated_at,
    old.answer, old.outcome, old.answered_by, old.answered_by_key);
end;
-- @postgres
create or replace function notification_changed() returns trigger language plpgsql as $$
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
    if counted.outcome = 'resolved' then
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
-- @both
