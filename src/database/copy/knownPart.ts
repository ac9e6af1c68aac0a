import type { Row, Store, Table, Value } from './store.ts';

interface KnownPart {
  store: Store;
  /** Tables, and columns as `table.column`: of a newer version, or of another program. */
  leftOut: string[];
}

/**
 * Shows of a database only what this version knows. A newer version that has migrated it adds its own part again when it
 * migrates: it can read rows without its own columns, because this version also writes such rows.
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
