import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../../src/version.ts';
import { root } from '../process.ts';

/** A copy of this program as a next version: a higher version number and more migrations. */
export interface NextVersion {
  /** Its command line: `node program serve`. */
  program: string;
  version: string;
  /** Adds a migration, or replaces one. */
  addMigration(file: string, sql: string): void;
  remove(): void;
}

const NEXT_MIGRATIONS = new URL('./next/', import.meta.url);

export function createNextVersion(): NextVersion {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-next-'));
  const migrations = join(folder, 'migrations');
  for (const name of readdirSync(root)) {
    if (name === 'src' || name === 'migrations')
      cpSync(join(root, name), join(folder, name), { recursive: true });
    else if (name !== 'package.json' && name !== '.git') symlinkSync(join(root, name), join(folder, name));
  }
  const [major, minor] = VERSION.split('.').map(Number);
  const version = `${major}.${minor! + 1}.0`;
  const settings = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...settings, version }));
  const addMigration = (file: string, sql: string) =>
    // They support the version before, whatever it is called now.
    writeFileSync(join(migrations, file), sql.replace('@expand 0.2.0', `@expand ${VERSION}`));
  for (const file of readdirSync(NEXT_MIGRATIONS)) {
    addMigration(file, readFileSync(new URL(file, NEXT_MIGRATIONS), 'utf8'));
  }
  return {
    program: join(folder, 'src', 'cli', 'main.ts'),
    version,
    addMigration,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
