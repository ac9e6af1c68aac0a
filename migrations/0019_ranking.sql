-- Each process keeps the documents in memory to compare them with questions, and reads those that were updated since. It
-- reads all ids again only after a deletion.
alter table live_versions add column deletions bigint not null default 0;
-- @sqlite
create trigger documents_counted after delete on documents begin
  update live_versions set deletions = deletions + 1
    where merchant_id = old.merchant_id and topic = 'knowledge';
end;
-- @postgres
create function count_deletion() returns trigger language plpgsql as $$
begin
  update live_versions set deletions = deletions + 1
    where merchant_id = old.merchant_id and topic = 'knowledge';
  return null;
end $$;
create trigger documents_counted after delete on documents for each row execute function count_deletion();
-- @both
