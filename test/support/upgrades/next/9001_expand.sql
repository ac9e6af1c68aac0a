-- @expand 0.2.0
-- What a next version may add: a table, columns, and a change to every notification in the background.
create table next_things (
  merchant_id bigint not null,
  id bigint not null,
  primary key (merchant_id, id)
);
alter table notifications add column next_visits integer not null default 0;
alter table deliveries add column next_note text;

-- Not idempotent, so that a step that is done twice shows.
-- @background notifications
update notifications set next_visits = next_visits + 1
  where merchant_id = $1 and id > $2 and id <= $3;
