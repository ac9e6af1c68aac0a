import type { Reads } from '../database.ts';
import { type ForeignKey, isUnfinished, readForeignKeys, readRemembered, sameKey } from './keys.ts';
import { isMisplaced, type PlacedTable, readTables } from './status.ts';

/** What distributing would change. */
export interface Changes {
  tables: PlacedTable[];
  /** A run before this one did not come to its end. */
  isUnfinished: boolean;
  moving: PlacedTable[];
  /** The foreign keys to drop. */
  dropped: ForeignKey[];
  /** Those to add at the end: also what an earlier run has dropped. */
  missing: ForeignKey[];
}

/** Foreign keys between tables that are in place stay. */
export async function readChanges(queries: Reads): Promise<Changes> {
  const tables = (await readTables(queries))!;
  const existing = await readForeignKeys(queries);
  const unfinished = await isUnfinished(queries);
  const remembered = unfinished ? await readRemembered(queries) : [];

  // Not every table is in it: those of other schemas, partitioned ones and an operator's `region_1` stay where they are.
  const byName = new Map(tables.map((table) => [table.name, table]));
  const isMoving = (name: string) => {
    const table = byName.get(name);
    return table !== undefined && isMisplaced(table);
  };
  // A migration can add a table of the coordinator with a foreign key that Citus does not know: see `MIGRATION_SETTINGS`.
  const isUnknown = ({ table_name, references_table }: ForeignKey) => {
    const table = byName.get(table_name);
    return (
      table !== undefined && table.is === undefined && byName.get(references_table)?.belongs === 'everywhere'
    );
  };
  const dropped = existing.filter(
    (key) => isMoving(key.table_name) || isMoving(key.references_table) || isUnknown(key),
  );
  const kept = existing.filter((key) => !dropped.some(sameKey(key)));
  const missing = [...remembered.filter((key) => !dropped.some(sameKey(key))), ...dropped].filter(
    (key) => !kept.some(sameKey(key)),
  );
  return { tables, isUnfinished: unfinished, moving: tables.filter(isMisplaced), dropped, missing };
}

/** Whether every foreign key that was written down exists. */
export async function areKeysThere(queries: Reads): Promise<boolean> {
  const existing = await readForeignKeys(queries);
  return (await readRemembered(queries)).every((key) => existing.some(sameKey(key)));
}
