import type { Changes } from './changes.ts';
import { addSql, dropSql, forgetSql, rememberSql } from './keys.ts';
import { quotedName, quotedText, tableArgument } from './quote.ts';
import type { PlacedTable } from './status.ts';

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
 * table, so the foreign keys go first and come back at the end. The first step closes the database for everybody else.
 */
export function stepsOf({ tables, isUnfinished, moving, dropped, missing }: Changes): Step[] {
  if (moving.length === 0 && dropped.length === 0 && !isUnfinished) return [];
  const ordered = inOrder(moving);
  // Whoever began may have died before it removed the former rows.
  const emptied = isUnfinished ? tables.filter(({ belongs }) => belongs !== 'coordinator') : ordered;
  const spread = tables.find(({ is }) => is === 'by merchant') ?? ordered.find(isByMerchant);
  return [
    { what: `write down ${missing.length} foreign keys`, sql: rememberSql(dropped) },
    ...functionSteps(ordered),
    ...dropped.map((key) => ({ what: `drop ${key.name} of ${key.table_name}`, sql: dropSql(key) })),
    ...ordered.map((table) => placeStep(table, spread?.name)),
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
 * The functions of triggers. Created with the triggers, in the transaction that distributes the table, they would not be
 * seen by the other connections on which Citus creates the triggers of the parts.
 */
function functionSteps(tables: readonly PlacedTable[]): Step[] {
  const names = tables.flatMap(({ triggers }) => triggers.flatMap((trigger) => trigger.function ?? []));
  return [...new Set(names)].map((name) => ({
    what: `function on every node: ${name}`,
    sql: `select create_distributed_function(${quotedText(name)})`,
  }));
}

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
