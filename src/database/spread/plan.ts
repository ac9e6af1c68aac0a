import type { Reads } from '../database.ts';
import {
  addSql,
  dropSql,
  type ForeignKey,
  forgetSql,
  isUnfinished,
  readForeignKeys,
  readRemembered,
  rememberSql,
  sameKey,
} from './keys.ts';
import { quotedName, tableArgument } from './quote.ts';
import { isMisplaced, type PlacedTable, readTables } from './status.ts';

/** One change. Each is a transaction of its own, and the whole can be repeated after any of them. */
export interface Step {
  /** For people: "by merchant: notifications". */
  what: string;
  sql: string;
  /** If it fails, the others go on. */
  isOptional?: true;
}

/**
 * What is left to do. Citus cannot distribute a table with an identity while a foreign key connects it with a reference
 * table, so the foreign keys go first and come back at the end. Foreign keys between tables that are in place stay.
 */
export async function planDistribution(queries: Reads): Promise<Step[]> {
  const tables = (await readTables(queries))!;
  const existing = await readForeignKeys(queries);
  const unfinished = await isUnfinished(queries);
  const remembered = unfinished ? await readRemembered(queries) : [];

  const byName = new Map(tables.map((table) => [table.name, table]));
  const isMoving = (name: string) => isMisplaced(byName.get(name)!);
  // A migration can add a table of the coordinator with a foreign key that Citus does not know: see `MIGRATION_SETTING`.
  const isUnknown = ({ table_name, references_table }: ForeignKey) =>
    byName.get(table_name)!.is === undefined && byName.get(references_table)!.belongs === 'everywhere';
  const dropped = existing.filter(
    (key) => isMoving(key.table_name) || isMoving(key.references_table) || isUnknown(key),
  );
  const moving = inOrder(tables.filter(isMisplaced));
  if (moving.length === 0 && dropped.length === 0 && !unfinished) return [];

  const kept = existing.filter((key) => !dropped.some(sameKey(key)));
  const missing = [...remembered.filter((key) => !dropped.some(sameKey(key))), ...dropped].filter(
    (key) => !kept.some(sameKey(key)),
  );
  // Whoever began may have died before it removed the former rows.
  const emptied = unfinished ? tables.filter(({ belongs }) => belongs !== 'coordinator') : moving;
  const spread = tables.find(({ is }) => is === 'by merchant') ?? moving.find(isByMerchant);
  return [
    { what: `write down ${missing.length} foreign keys`, sql: rememberSql(dropped) },
    ...dropped.map((key) => ({ what: `drop ${key.name} of ${key.table_name}`, sql: dropSql(key) })),
    ...moving.map((table) => placeStep(table, spread?.name)),
    ...emptied.map(({ name }) => ({
      what: `remove the former rows of ${name} from the coordinator`,
      sql: `select truncate_local_data_after_distributing_table(${tableArgument(name)})`,
      isOptional: true as const,
    })),
    ...missing.map((key) => ({ what: `add ${key.name} of ${key.table_name} again`, sql: addSql(key) })),
    { what: 'finish', sql: forgetSql },
  ];
}

const isByMerchant = ({ belongs }: PlacedTable) => belongs === 'by merchant';

/** Those that are everywhere first. `notifications` is last: the servers look at it to see whether the tables are spread. */
const inOrder = (tables: readonly PlacedTable[]): PlacedTable[] =>
  tables.toSorted((one, other) => rankOf(one) - rankOf(other));

const rankOf = ({ name, belongs }: PlacedTable): number =>
  belongs === 'everywhere' ? 0 : name === 'notifications' ? 2 : 1;

/**
 * `first`: the table that the others are beside, so that all rows of a merchant are on one node. Citus copies the rows into
 * tables that have the triggers already, which would count each row a second time. So they come back after it, in the
 * same transaction.
 */
function placeStep({ name, belongs, triggers }: PlacedTable, first: string | undefined): Step {
  const beside = first === undefined || first === name ? '' : `, colocate_with => ${tableArgument(first)}`;
  const [what, place] =
    belongs === 'everywhere'
      ? ['on every node', `select create_reference_table(${tableArgument(name)})`]
      : ['by merchant', `select create_distributed_table(${tableArgument(name)}, 'merchant_id'${beside})`];
  const statements = [
    ...(triggers.length > 0 ? ['set local citus.enable_unsafe_triggers = on'] : []),
    ...triggers.map((trigger) => `drop trigger ${quotedName(trigger.name)} on ${quotedName(name)}`),
    place,
    ...triggers.flatMap(({ definitions }) => definitions),
  ];
  return { what: `${what}: ${name}`, sql: statements.join(';\n') };
}
