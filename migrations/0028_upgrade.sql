-- For upgrades without a stop.

-- The oldest program that can use the database after this migration. A program that does not know the migration looks
-- here. Null: only programs that know it.
alter table schema_migrations add column supports text;

-- Changes to many rows, which a worker makes in small steps after the migration: see -- @background in a migration.
-- Everything up to this merchant and id is done.
create table background_changes (
  migration integer primary key,
  merchant_id bigint not null default 0,
  position bigint not null default 0,
  rows_done bigint not null default 0,
  created_at text not null,
  finished_at text
);
