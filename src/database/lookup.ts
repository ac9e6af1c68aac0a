import type { Queries } from './database.ts';
import { idIn } from './ids.ts';
import { together } from './together.ts';

/** Finds a row by its number, together with the others that are looked for at this moment. */
export function createLookup<Row extends object>(
  queries: Queries,
  select: string,
  key: keyof Row & string,
): (id: number) => Promise<Row | undefined> {
  return together(async (ids: readonly number[]) => {
    const rows = await queries.all<Row>(`${select} where ${idIn(queries.engine, key, '$1')}`, [
      [...new Set(ids)],
    ]);
    const byKey = new Map<unknown, Row>(rows.map((row) => [row[key], row]));
    return ids.map((id) => byKey.get(id));
  });
}
