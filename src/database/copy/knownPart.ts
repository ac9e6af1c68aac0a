import type { Row, Store, Table, Value } from './store.ts';

/** What a database of a newer version has and this version does not know: tables, and columns as `table.column`. */
interface KnownPart {
  store: Store;
  leftOut: string[];
}

/**
 * Shows of a database that a newer version has migrated only what this version knows. The newer one adds the rest again
 * when it migrates: it can read rows without its own columns, because this version also writes such rows.
 */
export async function knownPart(
  source: Store,
  known: readonly Table[],
  newestKnown: number,
): Promise<KnownPart> {
  const leftOut: string[] = [];
  const tables: Table[] = [];
  for (const table of await source.tables()) {
    const own = known.find(({ name }) => name === table.name);
    if (!own) {
      leftOut.push(table.name);
      continue;
    }
    const columns = table.columns.filter((column) => own.columns.includes(column));
    leftOut.push(
      ...table.columns
        .filter((column) => !columns.includes(column))
        .map((column) => `${table.name}.${column}`),
    );
    tables.push({ ...table, columns });
  }
  async function* rows(table: Table, after?: readonly Value[]): AsyncGenerator<Row[]> {
    const place = table.columns.indexOf('migration');
    for await (const piece of source.rows(table, after)) {
      // The migration writes its row again.
      const own =
        table.name === BACKGROUND_CHANGES ? piece.filter((row) => Number(row[place]) <= newestKnown) : piece;
      if (own.length > 0) yield own;
    }
  }
  return { store: { ...source, tables: async () => tables, rows }, leftOut };
}

const BACKGROUND_CHANGES = 'background_changes';
