import type { Engine, Queries } from './database.ts';

/** The numbers of a JSON array; PostgreSQL reads one of its own faster, which is written alike. */
const AMONG: Record<Engine, string> = {
  sqlite: 'in (select value from json_each($1))',
  postgres: `= any(cast(translate($1, '[]', '{}') as bigint[]))`,
};

/**
 * Finds a row by its number. What is asked for in one turn of the event loop is one statement: a busy server
 * then spends on its way to the database, and on SQLite's locks, a fraction of what single statements cost it.
 * It is sent after every one of its askers has asked, so none is told of anything older.
 */
export function createLookup<Row extends object>(
  queries: Queries,
  select: string,
  key: keyof Row & string,
): (id: number) => Promise<Row | undefined> {
  interface Batch {
    ids: Set<number>;
    rows: Promise<Map<unknown, Row>>;
  }
  let open: Batch | undefined;
  async function send(batch: Batch): Promise<Map<unknown, Row>> {
    await new Promise((resolve) => setImmediate(resolve));
    open = undefined;
    const ids = `[${[...batch.ids].join()}]`;
    const rows = await queries.all<Row>(`${select} where ${key} ${AMONG[queries.engine]}`, [ids]);
    return new Map(rows.map((row) => [row[key], row]));
  }
  return async (id) => {
    if (!open) {
      const batch: Batch = { ids: new Set(), rows: undefined as never };
      batch.rows = send(batch);
      open = batch;
    }
    open.ids.add(id);
    return (await open.rows).get(id);
  };
}
