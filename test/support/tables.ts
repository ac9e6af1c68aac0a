import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Table } from '../../src/database/tables.ts';
import { ERASURES } from '../../src/tables.ts';
import { root } from './process.ts';

/** The tables that each folder of src/ declares in its tables.ts: only that feature uses them in SQL. */
export const TABLES: Record<string, readonly string[]> = { erasure: [ERASURES.name] };
for (const folder of readdirSync(join(root, 'src'))) {
  const file = join(root, 'src', folder, 'tables.ts');
  if (!existsSync(file)) continue;
  const declared: unknown[] = Object.values(await import(pathToFileURL(file).href));
  const tables = declared.filter((one) => Array.isArray(one)).flat() as Table[];
  TABLES[folder] = tables.map(({ name }) => name);
}
