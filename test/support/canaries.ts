import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../src/database/database.ts';
import type { Deskbell } from './server.ts';

/** Searches a raw dump of every table for what must be gone. */

/** Every table and every row, from the catalogue. */
async function* dumpOf(database: Database): AsyncGenerator<{ table: string; row: string }> {
  const tables = await database.all<{ name: string }>(
    database.engine === 'sqlite'
      ? `select name from sqlite_master where type = 'table'`
      : `select table_name as name from information_schema.tables where table_schema = current_schema()
          and table_type = 'BASE TABLE'`,
  );
  for (const { name } of tables) {
    // Full-text indexes of SQLite have no rows of their own, but tables.
    const isVirtual =
      /^(documents|answered_questions|inbox)_index$/.test(name) && database.engine === 'sqlite';
    if (isVirtual) continue;
    // The ids of their pages are too large for a number.
    const columns = name.endsWith('_index_data') ? 'block' : '*';
    for (const row of await database.all<Record<string, unknown>>(`select ${columns} from "${name}"`))
      yield { table: name, row: Object.values(row).map(textOf).join('\n') };
  }
}

const textOf = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value);

/** The tables in which one of the patterns is found, with the first place. */
export async function tablesWith(database: Database, patterns: readonly RegExp[]): Promise<string[]> {
  const found = new Map<string, string>();
  for await (const { table, row } of dumpOf(database)) {
    for (const pattern of patterns) {
      const match = pattern.exec(row);
      if (match && !found.has(table))
        found.set(table, `${table}: ${row.slice(Math.max(0, match.index - 40), match.index + 60)}`);
    }
  }
  return [...found.values()];
}

/** The same in the bytes of SQLite's files. */
export function filesWith({ config, engine }: Deskbell, patterns: readonly RegExp[]): string[] {
  if (engine !== 'sqlite') return [];
  return ['deskbell.db', 'deskbell.db-wal'].flatMap((name) => {
    const text = readFileSync(join(config.dataDir, name)).toString('latin1');
    return patterns.flatMap((pattern) => {
      const match = pattern.exec(text);
      return match ? `${name}: ${text.slice(Math.max(0, match.index - 60), match.index + 60)}` : [];
    });
  });
}
