import type { Queries } from './database.ts';

/**
 * Finds a row by its number. What is asked for in one turn of the event loop is one statement on PostgreSQL:
 * a busy server then spends on the way there and back a fraction of what single statements cost it. It is sent
 * after every one of its askers has asked, so none is told of anything older. SQLite has no way to save.
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
    const ids = `{${[...batch.ids].join()}}`;
    const rows = await queries.all<Row>(`${select} where ${key} = any(cast($1 as bigint[]))`, [ids]);
    return new Map(rows.map((row) => [row[key], row]));
  }
  return async (id) => {
    if (queries.engine === 'sqlite') return queries.one<Row>(`${select} where ${key} = $1`, [id]);
    if (!open) {
      const batch: Batch = { ids: new Set(), rows: undefined as never };
      batch.rows = send(batch);
      open = batch;
    }
    open.ids.add(id);
    return (await open.rows).get(id);
  };
}
