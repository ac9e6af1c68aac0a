-- See citus.ts. Citus keeps its catalog and its functions in pg_catalog, where they are found without a schema.
set allow_system_table_mods = on;

create table pg_catalog.pg_dist_partition (
  logicalrelid regclass primary key,
  partmethod "char" not null,
  partkey text,
  colocationid integer not null default 0,
  repmodel "char" not null default 's',
  autoconverted boolean not null default false
);
create table pg_catalog.pg_dist_node (
  nodeid serial primary key,
  groupid integer not null,
  nodename text not null,
  nodeport integer not null,
  isactive boolean not null default true,
  noderole text not null default 'primary',
  shouldhaveshards boolean not null default true
);
grant select on pg_catalog.pg_dist_partition, pg_catalog.pg_dist_node to public;

create schema citus_stand_in;
-- A sequence, because a failed call is counted, too.
create sequence citus_stand_in.calls;
create table citus_stand_in.faults (every integer not null);
insert into citus_stand_in.faults values (0);
create table citus_stand_in.truncated (name regclass primary key);

-- The functions that the nodes have.
create table citus_stand_in.functions (name regprocedure primary key);

create function citus_stand_in.count_call() returns void language plpgsql as $$
declare
  every integer := (select f.every from citus_stand_in.faults f);
  number bigint := nextval('citus_stand_in.calls');
begin
  if every > 0 and number % every = 0 then
    raise exception 'connection to the remote node worker-1:5432 failed' using errcode = '08006', hint = 'Check that it runs.';
  end if;
end $$;

create function pg_catalog.citus_version() returns text language sql as
  $$ select 'Citus 13.2.0 (a stand-in for tests)' $$;

create function pg_catalog.citus_set_coordinator_host(host text, port integer default 5432) returns void language sql as
  $$ insert into pg_catalog.pg_dist_node (groupid, nodename, nodeport, shouldhaveshards) values (0, host, port, false) $$;

-- What Citus says of a table: distributed, reference, local (Citus knows it) or postgres (it does not).
create function citus_stand_in.kind_of(given regclass) returns text language sql as $$
  select coalesce((select case when partmethod = 'h' then 'distributed' when repmodel = 't' then 'reference' else 'local' end
    from pg_catalog.pg_dist_partition where logicalrelid = given), 'postgres')
$$;

create function citus_stand_in.has_identity(given regclass) returns boolean language sql as $$
  select exists (select 1 from pg_attribute where attrelid = given and attidentity <> '' and not attisdropped)
$$;

create function citus_stand_in.refuse_distributed(given regclass) returns void language plpgsql as $$
begin
  if citus_stand_in.kind_of(given) in ('distributed', 'reference') then
    raise exception 'table "%" is already distributed', given using errcode = '42P16';
  end if;
end $$;

-- A table that Citus knows only because of a foreign key becomes a plain one before it is distributed. An identity
-- prevents that.
create function citus_stand_in.undistribute(given regclass) returns void language plpgsql as $$
begin
  if citus_stand_in.kind_of(given) <> 'local' then return; end if;
  if citus_stand_in.has_identity(given) then
    raise exception 'cannot complete operation on a table with identity column' using errcode = '0A000';
  end if;
  delete from pg_catalog.pg_dist_partition where logicalrelid = given;
end $$;

create function citus_stand_in.allows_triggers() returns boolean language sql as
  $$ select coalesce(nullif(current_setting('citus.enable_unsafe_triggers', true), ''), 'off') = 'on' $$;

create function citus_stand_in.refuse_triggers(given regclass) returns void language plpgsql as $$
begin
  if exists (select 1 from pg_trigger where tgrelid = given and not tgisinternal)
    and not citus_stand_in.allows_triggers() then
    raise exception 'cannot distribute relation "%" because it has triggers', given
      using hint = format('Consider dropping all the triggers on "%s" and retry.', given), errcode = '0A000';
  end if;
end $$;

create function citus_stand_in.refuse_trigger_change(given regclass) returns void language plpgsql as $$
begin
  if citus_stand_in.kind_of(given) in ('distributed', 'reference') and not citus_stand_in.allows_triggers() then
    raise exception 'triggers are not supported on distributed tables when "citus.enable_unsafe_triggers" is set to "false"'
      using errcode = '0A000';
  end if;
end $$;

-- A change of a distributed table runs on all nodes at the same time, unless a setting says one after another. What
-- Citus does one after another is refused later in that transaction.
create function citus_stand_in.note_parallel() returns void language plpgsql as $$
begin
  if coalesce(current_setting('citus.multi_shard_modify_mode', true), '') <> 'sequential' then
    perform set_config('citus_stand_in.parallel', 'on', true);
  end if;
end $$;
create function citus_stand_in.refuse_parallel(what text) returns void language plpgsql as $$
begin
  if current_setting('citus_stand_in.parallel', true) = 'on' then
    raise exception '%', what || ' because there was a parallel operation on a distributed table in the transaction'
      using errcode = '25000';
  end if;
end $$;

-- Citus copies the rows into a table that has the triggers already, so those of an insert run for each row.
create function citus_stand_in.copy_rows(given regclass) returns void language plpgsql as $$
declare
  columns text := (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
    where attrelid = given and attnum > 0 and not attisdropped and attgenerated = '');
begin
  if not exists (select 1 from pg_trigger where tgrelid = given and not tgisinternal) then return; end if;
  execute format('create temp table rows_to_copy as select %s from %s', columns, given);
  perform set_config('session_replication_role', 'replica', true);
  execute format('delete from %s', given);
  perform set_config('session_replication_role', 'origin', true);
  execute format('insert into %s (%s) overriding system value select %2$s from rows_to_copy', given, columns);
  drop table rows_to_copy;
end $$;

-- The rules for one foreign key, between tables of these kinds.
create function citus_stand_in.check_key(key pg_constraint, from_kind text, to_kind text) returns void language plpgsql as $$
declare
  from_place integer;
  to_place integer;
begin
  if from_kind = 'postgres' then
    if to_kind = 'distributed' then
      raise exception 'cannot create foreign key constraint since foreign keys from reference tables and local tables to distributed tables are not supported'
        using errcode = '0A000';
    end if;
    return;
  end if;
  if to_kind = 'postgres' then
    raise exception 'referenced table "%" must be a distributed table or a reference table', key.confrelid::regclass
      using errcode = '42P16';
  end if;
  if from_kind in ('reference', 'local') then
    if to_kind = 'distributed' then
      raise exception 'cannot create foreign key constraint since foreign keys from reference tables and local tables to distributed tables are not supported'
        using errcode = '0A000';
    end if;
    return;
  end if;
  if to_kind = 'local' then
    raise exception 'cannot create foreign key constraint since relations are not colocated or not referencing a reference table'
      using errcode = '0A000';
  end if;
  select n.place into from_place from unnest(key.conkey) with ordinality n (number, place)
    join pg_attribute a on a.attrelid = key.conrelid and a.attnum = n.number where a.attname = 'merchant_id';
  select n.place into to_place from unnest(key.confkey) with ordinality n (number, place)
    join pg_attribute a on a.attrelid = key.confrelid and a.attnum = n.number where a.attname = 'merchant_id';
  if from_place is not null and (key.confdeltype in ('n', 'd') or key.confupdtype in ('n', 'd', 'c')) then
    raise exception 'cannot create foreign key constraint' using errcode = '0A000',
      detail = 'SET NULL or SET DEFAULT is not supported in ON DELETE operation when distribution key is included in the foreign key constraint';
  end if;
  if to_kind = 'distributed' and (from_place is null or from_place is distinct from to_place) then
    raise exception 'cannot create foreign key constraint' using errcode = '0A000',
      detail = 'Foreign keys are supported in two cases, either in between two colocated tables including partition column in the same ordinal in the both tables or from distributed to reference tables';
  end if;
end $$;

-- All foreign keys of a table that is about to be of this kind.
create function citus_stand_in.check_keys(given regclass, kind text) returns void language plpgsql as $$
declare
  key pg_constraint;
begin
  for key in select * from pg_constraint where contype = 'f' and given in (conrelid, confrelid) loop
    perform citus_stand_in.check_key(key,
      case when key.conrelid = given then kind else citus_stand_in.kind_of(key.conrelid) end,
      case when key.confrelid = given then kind else citus_stand_in.kind_of(key.confrelid) end);
  end loop;
end $$;

-- A plain table that gets a foreign key to a reference table becomes one that Citus knows. Null: all of them.
create function citus_stand_in.convert_local(given regclass) returns void language plpgsql as $$
begin
  if coalesce(nullif(current_setting('citus.enable_local_reference_table_foreign_keys', true), ''), 'on') <> 'on' then
    return;
  end if;
  insert into pg_catalog.pg_dist_partition (logicalrelid, partmethod, repmodel, autoconverted)
    select distinct k.conrelid::regclass, 'n'::"char", 's'::"char", true from pg_constraint k
    where k.contype = 'f' and k.conrelid = coalesce(given, k.conrelid) and citus_stand_in.kind_of(k.conrelid) = 'postgres'
      and citus_stand_in.kind_of(k.confrelid) = 'reference';
end $$;

create function pg_catalog.create_reference_table(table_name regclass) returns void language plpgsql as $$
begin
  perform citus_stand_in.count_call();
  perform citus_stand_in.refuse_distributed(table_name);
  perform citus_stand_in.refuse_triggers(table_name);
  if exists (select 1 from pg_constraint k where k.contype = 'f' and k.conrelid = table_name
      and citus_stand_in.kind_of(k.confrelid) = 'postgres') then
    raise exception 'referenced table must be a distributed table or a reference table' using errcode = '42P16';
  end if;
  delete from pg_catalog.pg_dist_partition where logicalrelid = table_name;
  insert into pg_catalog.pg_dist_partition (logicalrelid, partmethod, colocationid, repmodel)
    values (table_name, 'n', 2, 't');
  perform citus_stand_in.copy_rows(table_name);
  perform citus_stand_in.convert_local(null);
  perform set_config('citus_stand_in.distributed', 'on', true);
end $$;

create function pg_catalog.create_distributed_table(
  table_name regclass, distribution_column text, distribution_type text default 'hash', colocate_with text default 'default'
) returns void language plpgsql as $$
declare
  bad text;
begin
  perform citus_stand_in.count_call();
  perform citus_stand_in.refuse_distributed(table_name);
  if (select relispartition from pg_class where oid = table_name) then
    raise exception 'cannot distribute relation "%" which is partition of another relation', table_name using errcode = '42P16';
  end if;
  perform citus_stand_in.undistribute(table_name);
  if not exists (select 1 from pg_attribute where attrelid = table_name and attname = distribution_column) then
    raise exception 'column "%" of relation "%" does not exist', distribution_column, table_name using errcode = '42703';
  end if;
  if colocate_with not in ('default', 'none') and citus_stand_in.kind_of(colocate_with::regclass) <> 'distributed' then
    raise exception 'relation % is not distributed', colocate_with using errcode = '42P16';
  end if;
  if colocate_with not in ('default', 'none') and (select count(distinct atttypid) from pg_attribute
      where attrelid in (table_name, colocate_with::regclass) and attname = distribution_column) > 1 then
    raise exception 'cannot colocate tables % and %', colocate_with, table_name using errcode = '42P16',
      detail = format('Distribution column types don''t match for %s and %s.', colocate_with, table_name);
  end if;
  perform citus_stand_in.refuse_triggers(table_name);
  if exists (select 1 from pg_attribute where attrelid = table_name and attidentity <> '' and atttypid <> 'bigint'::regtype
      and not attisdropped) then
    raise exception 'cannot complete operation on %.% with smallint/int identity column', current_schema(), table_name
      using errcode = '0A000', hint = 'Use bigint identity column instead.';
  end if;
  select i.indexrelid::regclass::text into bad from pg_index i where i.indrelid = table_name and i.indisunique
    and not exists (select 1 from pg_attribute a where a.attrelid = table_name and a.attname = distribution_column
      and a.attnum = any (i.indkey)) limit 1;
  if bad is not null then
    raise exception 'cannot create constraint on "%"', table_name using errcode = '42P16',
      detail = 'Distributed relations cannot have UNIQUE, EXCLUDE, or PRIMARY KEY constraints that do not include the partition column (with an equality operator if EXCLUDE).';
  end if;
  perform citus_stand_in.check_keys(table_name, 'distributed');
  insert into pg_catalog.pg_dist_partition (logicalrelid, partmethod, partkey, colocationid)
    values (table_name, 'h', distribution_column, 1);
  perform citus_stand_in.copy_rows(table_name);
  perform set_config('citus_stand_in.distributed', 'on', true);
end $$;

create function pg_catalog.create_distributed_function(function_name regprocedure) returns void language plpgsql as $$
begin
  perform citus_stand_in.count_call();
  if exists (select 1 from pg_depend where classid = 'pg_proc'::regclass and objid = function_name and deptype = 'e') then
    raise exception 'unable to create a distributed function from functions owned by an extension' using errcode = '0A000';
  end if;
  if not exists (select 1 from pg_proc where oid = function_name and pg_has_role(proowner, 'usage')) then
    raise exception 'must be owner of function %', function_name using errcode = '42501';
  end if;
  insert into citus_stand_in.functions values (function_name) on conflict do nothing;
end $$;

create function pg_catalog.truncate_local_data_after_distributing_table(table_name regclass) returns void
language plpgsql as $$
begin
  if citus_stand_in.kind_of(table_name) = 'postgres' then
    raise exception 'supplied parameter is not a distributed relation' using errcode = '42P16',
      detail = 'This UDF only truncates local records of distributed tables.';
  end if;
  if exists (select 1 from pg_constraint k where k.contype = 'f' and k.confrelid = table_name
      and citus_stand_in.kind_of(k.conrelid) = 'postgres') then
    raise exception 'cannot truncate a table referenced in a foreign key constraint by a local table' using errcode = '0A000';
  end if;
  -- The rows are the real ones here, so they stay.
  insert into citus_stand_in.truncated values (table_name) on conflict do nothing;
end $$;

-- Citus follows `alter table` and `create table`: it checks new foreign keys, and converts plain tables with one to a
-- reference table. Without one, it converts them back.
create function citus_stand_in.follow() returns event_trigger language plpgsql as $$
declare
  command record;
  lonely regclass;
begin
  for command in select * from pg_event_trigger_ddl_commands() where classid = 'pg_class'::regclass
      and object_type = 'table' and schema_name not in ('citus_stand_in', 'pg_catalog') loop
    if tg_tag = 'ALTER TABLE' then
      perform citus_stand_in.count_call();
      if coalesce(nullif(current_setting('citus.enable_local_reference_table_foreign_keys', true), ''), 'on') = 'on' then
        for lonely in select p.logicalrelid from pg_catalog.pg_dist_partition p where p.autoconverted
            and not exists (select 1 from pg_constraint k where k.contype = 'f' and k.conrelid = p.logicalrelid
              and citus_stand_in.kind_of(k.confrelid) = 'reference') loop
          perform citus_stand_in.undistribute(lonely);
        end loop;
      end if;
      if citus_stand_in.kind_of(command.objid) = 'reference' then
        perform citus_stand_in.refuse_parallel(format('cannot execute DDL on reference relation "%s"', command.objid::regclass));
      elsif citus_stand_in.kind_of(command.objid) = 'distributed' then
        perform citus_stand_in.note_parallel();
      end if;
      if citus_stand_in.kind_of(command.objid) <> 'postgres' then
        perform citus_stand_in.check_keys(command.objid, citus_stand_in.kind_of(command.objid));
      end if;
    end if;
    if tg_tag = 'CREATE TABLE' or current_query() ~* '\madd constraint\M' then
      perform citus_stand_in.convert_local(command.objid);
    end if;
  end loop;
end $$;
create event trigger citus_stand_in on ddl_command_end when tag in ('ALTER TABLE', 'CREATE TABLE')
  execute function citus_stand_in.follow();

-- The same for triggers and their functions.
create function citus_stand_in.follow_triggers() returns event_trigger language plpgsql as $$
declare
  command record;
  missing regprocedure;
begin
  for command in select * from pg_event_trigger_ddl_commands() loop
    if command.object_type = 'trigger' then
      perform citus_stand_in.refuse_trigger_change((select tgrelid::regclass from pg_trigger where oid = command.objid));
      -- In the transaction that has distributed a table, other connections do not see a function that is sent with it.
      select t.tgfoid::regprocedure into missing from pg_trigger t where t.oid = command.objid
        and t.tgfoid >= 16384 and citus_stand_in.kind_of(t.tgrelid) in ('distributed', 'reference')
        and t.tgfoid not in (select name from citus_stand_in.functions);
      if missing is not null and current_setting('citus_stand_in.distributed', true) = 'on' then
        raise exception 'function % does not exist', missing using errcode = '42883';
      end if;
    elsif command.object_type = 'function' then
      perform citus_stand_in.refuse_parallel('cannot run function command');
    end if;
  end loop;
end $$;
create event trigger citus_stand_in_triggers on ddl_command_end when tag in ('CREATE TRIGGER', 'CREATE FUNCTION', 'ALTER FUNCTION')
  execute function citus_stand_in.follow_triggers();

create function citus_stand_in.follow_drops() returns event_trigger language plpgsql as $$
declare
  dropped record;
begin
  for dropped in select * from pg_event_trigger_dropped_objects() where original loop
    if dropped.object_type = 'trigger' then
      perform citus_stand_in.refuse_trigger_change(
        format('%I.%I', dropped.address_names[1], dropped.address_names[2])::regclass);
    elsif dropped.object_type = 'function' then
      perform citus_stand_in.refuse_parallel('cannot run function command');
    end if;
  end loop;
end $$;
create event trigger citus_stand_in_drops on sql_drop when tag in ('DROP TRIGGER', 'DROP FUNCTION')
  execute function citus_stand_in.follow_drops();
