import { PROGRAM } from '../../installation.ts';
import { type Database, DatabaseProblem, type Engine } from '../database.ts';
import { type Changes, readChanges } from './changes.ts';
import { isUnfinished } from './keys.ts';
import { hasCitus, type PlacedTable } from './status.ts';

/** Why the tables cannot be distributed. All of it is found before anything is changed. */

interface Counts {
  /** How many servers and workers run. */
  countRunning: () => Promise<number>;
  countPendingMigrations: () => Promise<number>;
}

const NAMES_MAX = 5;

export function refuseEmbedded(engine: Engine): void {
  if (engine === 'sqlite')
    throw new DatabaseProblem(
      `The embedded database cannot be spread. Move it to a PostgreSQL with Citus first: "${PROGRAM} move --help".`,
    );
}

/** Throws, or returns what is to do. */
export async function refuse(database: Database, counts: Counts): Promise<Changes> {
  refuseEmbedded(database.engine);
  await refuseCluster(database);
  // After an interrupted run there is no other way: migrations wait until this one has finished.
  if (!(await isUnfinished(database))) await refuseOutdated(counts);
  await refuseRunning(counts);
  const changes = await readChanges(database);
  await refuseOwners(database, changes);
  await refuseForeignKeys(database, changes.tables);
  await refuseTables(database, changes.moving);
  return changes;
}

async function refuseCluster(database: Database): Promise<void> {
  if (!(await hasCitus(database)))
    throw new DatabaseProblem(
      'Citus is not installed in this database. As a superuser, run "create extension citus" in it on every node, then on the ' +
        `coordinator "select citus_set_coordinator_host('ADDRESS')" and "select citus_add_node('ADDRESS', 5432)" for each worker. See docs/scale.md.`,
    );
  if (!(await database.one('select 1 from pg_dist_node where groupid = 0')))
    throw new DatabaseProblem(
      `The other nodes do not know the coordinator's address. As a superuser, run "select citus_set_coordinator_host('ADDRESS')". See docs/scale.md.`,
    );
  if (
    !(await database.one('select 1 from pg_dist_node where isactive and (groupid <> 0 or shouldhaveshards)'))
  )
    throw new DatabaseProblem(
      `The cluster has no active node for the rows of merchants. As a superuser, run "select citus_add_node('ADDRESS', 5432)" for each worker. See docs/scale.md.`,
    );
}

async function refuseOutdated({ countPendingMigrations }: Counts): Promise<void> {
  const pending = await countPendingMigrations();
  if (pending > 0)
    throw new DatabaseProblem(
      `The tables are not up to date: ${pending} ${pending === 1 ? 'migration is' : 'migrations are'} pending. Run "${PROGRAM} db migrate" first.`,
    );
}

export async function refuseRunning({ countRunning }: Counts): Promise<void> {
  const running = await countRunning();
  if (running > 0)
    throw new DatabaseProblem(
      `${running} ${running === 1 ? 'server or worker runs' : 'servers and workers run'} on this database. Stop all of them first: foreign keys are missing for a while, and a running server does not notice that its tables are spread.`,
    );
}

/** Only a table's owner can distribute it, or drop its foreign keys. The same for the functions of its triggers. */
async function refuseOwners(database: Database, { tables, moving, missing }: Changes): Promise<void> {
  const changed = new Set([
    ...moving.map(({ name }) => name),
    ...missing.map(({ table_name }) => table_name),
  ]);
  const foreign = tables.filter(({ name, is_owned }) => !is_owned && changed.has(name));
  const functions = moving.flatMap(({ triggers }) => triggers.filter(({ is_owned }) => !is_owned));
  const functionNames = new Set(functions.flatMap((trigger) => trigger.function ?? []));
  if (foreign.length === 0 && functionNames.size === 0) return;
  const { role } = (await database.one<{ role: string }>('select current_user as role'))!;
  if (foreign.length === 0)
    throw new DatabaseProblem(
      `The role "${role}" does not own the functions of all triggers, so it cannot create them on the nodes (${[...functionNames].join(', ')}). Make the role the owner of the functions.`,
    );
  const names = foreign.slice(0, NAMES_MAX).map(({ name }) => name);
  const more = foreign.length > NAMES_MAX ? ` and ${foreign.length - NAMES_MAX} more` : '';
  throw new DatabaseProblem(
    `The role "${role}" does not own all tables, so it cannot distribute them (${names.join(', ')}${more}). Make the role the owner of the tables.`,
  );
}

interface KeyBetween {
  table: string;
  name: string;
  /** Of ours, or null if it is in another schema. */
  from_table: string | null;
  to_table: string | null;
  references_table: string;
  /** Both tables have the merchant at the same place in it. */
  is_of_merchant: boolean;
  /** What Citus does not do with a key that has the merchant in it. */
  has_refused_action: boolean;
}

const KEYS_BETWEEN = `
  select c.oid::regclass::text as table, quote_ident(k.conname) as name, t.oid::regclass::text as references_table,
    case when c.relnamespace = current_schema()::regnamespace then c.relname end as from_table,
    case when t.relnamespace = current_schema()::regnamespace then t.relname end as to_table,
    exists (select 1 from unnest(k.conkey, k.confkey) as n (one, other)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = n.one and a.attname = 'merchant_id'
      join pg_attribute b on b.attrelid = t.oid and b.attnum = n.other and b.attname = 'merchant_id') as is_of_merchant,
    (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd')) and exists (select 1 from pg_attribute a
      where a.attrelid = c.oid and a.attnum = any (k.conkey) and a.attname = 'merchant_id') as has_refused_action
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class t on t.oid = k.confrelid
  where k.contype = 'f' and k.conparentid = 0 order by 1, 2`;

/** Citus could not add them again. Ours are not among them: they are an operator's own. */
async function refuseForeignKeys(database: Database, tables: readonly PlacedTable[]): Promise<void> {
  const places = new Map(tables.map(({ name, belongs }) => [name, belongs]));
  const placeOf = (name: string | null) => (name === null ? undefined : places.get(name)) ?? 'coordinator';
  const reasonOf = ({ from_table, to_table, is_of_merchant, has_refused_action }: KeyBetween) => {
    const [from, to] = [placeOf(from_table), placeOf(to_table)];
    const isApart =
      to === 'by merchant'
        ? from !== 'by merchant' || !is_of_merchant
        : from === 'by merchant' && to === 'coordinator';
    if (isApart) return 'its row may be on another node';
    return (
      from === 'by merchant' &&
      has_refused_action &&
      'SET NULL, SET DEFAULT and ON UPDATE CASCADE are not possible with merchant_id'
    );
  };
  const lines = (await database.all<KeyBetween>(KEYS_BETWEEN)).flatMap((key) => {
    const reason = reasonOf(key);
    const { table, name, references_table } = key;
    return reason
      ? [`  alter table ${table} drop constraint ${name}; -- refers to ${references_table}: ${reason}`]
      : [];
  });
  if (lines.length === 0) return;
  throw new DatabaseProblem(
    `Citus does not support ${lines.length === 1 ? 'a foreign key' : `${lines.length} foreign keys`} of your own. Drop ${lines.length === 1 ? 'it' : 'them'} first:\n${lines.join('\n')}`,
  );
}

const UNSUITABLE = `
  with tables as (
    select c.oid, c.oid::regclass::text as name, a.attnum as merchant, a.atttypid, a.atttypmod
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'merchant_id'
    where c.relnamespace = current_schema()::regnamespace and c.relname = any (cast($1 as text[])))
  select name, format('its merchant_id is %s, not bigint', format_type(atttypid, atttypmod)) as reason
    from tables where atttypid <> 'bigint'::regtype
  union all
  select t.name, format('its identity %I is %s, not bigint', a.attname, format_type(a.atttypid, a.atttypmod))
    from tables t join pg_attribute a on a.attrelid = t.oid
    where a.attidentity <> '' and not a.attisdropped and a.atttypid <> 'bigint'::regtype
  union all
  select t.name, format('its %s %s has no merchant_id',
      case when i.indisexclusion then 'exclusion constraint' else 'unique index' end, i.indexrelid::regclass)
    from tables t join pg_index i on i.indrelid = t.oid
    where (i.indisunique or i.indisexclusion)
      and not t.merchant = any ((cast(i.indkey as int2[]))[0:i.indnkeyatts - 1])
  order by 1, 2`;

/** Tables of an operator's own, whose primary key begins with the merchant. */
async function refuseTables(database: Database, moving: readonly PlacedTable[]): Promise<void> {
  const names = moving.filter(({ belongs }) => belongs === 'by merchant').map(({ name }) => name);
  const found = await database.all<{ name: string; reason: string }>(UNSUITABLE, [names]);
  const lines = found.map(({ name, reason }) => `  ${name}: ${reason}`);
  if (lines.length === 0) return;
  throw new DatabaseProblem(
    `Citus cannot spread these tables of your own. Change them first, or move them to another schema:\n${lines.join('\n')}`,
  );
}
