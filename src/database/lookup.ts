import type { Engine, Queries } from './database.ts';
import { together } from './together.ts';

/** The numbers of a JSON array; PostgreSQL reads one of its own faster, which is written alike. */
const AMONG: Record<Engine, string> = {
  sqlite: 'in (select value from json_each($1))',
  postgres: `= any(cast(translate($1, '[]', '{}') as bigint[]))`,
};

/** Finds a row by its number, together with the others that are looked for at this moment. */
export function createLookup<Row extends object>(
  queries: Queries,
  select: string,
  key: keyof Row & string,
): (id: number) => Promise<Row | undefined> {
  return together(async (ids: readonly number[]) => {
    const rows = await queries.all<Row>(`${select} where ${key} ${AMONG[queries.engine]}`, [
      `[${[...new Set(ids)].join()}]`,
    ]);
    const byKey = new Map<unknown, Row>(rows.map((row) => [row[key], row]));
    return ids.map((id) => byKey.get(id));
  });
}
