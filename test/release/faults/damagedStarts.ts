import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDemoDatabase } from '../../support/databases.ts';
import { newFolder, run, SERVE, serve } from '../../support/process.ts';
import { AURORA, call } from '../../support/server.ts';
import type { Size } from './fault.ts';
import { folderOnSmallDisk } from './limitedDisk.ts';

/** The start must be refused within this time. */
const REFUSED_MAX_MS = 20_000;

/** Damage to a data folder, and the one line that must report it. */
interface Damage {
  title: string;
  line: RegExp;
  /** The folder has a database, unless `empty` is set. */
  apply(folder: string): void;
  undo?(folder: string): void;
  empty?: true;
  folder?: string;
  /** The maximum file size, in blocks of 512 bytes. */
  blocks?: number;
}

const DAMAGED = /^(The database in \S+ cannot be opened|The embedded database is damaged): [\w ]+\./;
const FULL = /^(The (data folder|database) \S*.*|The database) cannot be (opened|written|used): .+\.$/;

const databaseIn = (folder: string) => join(folder, 'deskbell.db');
function change(folder: string, how: (bytes: Buffer) => void): void {
  const bytes = readFileSync(databaseIn(folder));
  how(bytes);
  writeFileSync(databaseIn(folder), bytes);
}

const DAMAGES: readonly Damage[] = [
  {
    title: 'a file that is not a database',
    line: DAMAGED,
    apply: (f) => writeFileSync(databaseIn(f), 'x'.repeat(50_000)),
  },
  {
    title: 'a database with zeroed pages',
    line: DAMAGED,
    apply: (f) => change(f, (bytes) => bytes.fill(0, 4096, 20 * 4096)),
  },
  {
    title: 'an .env that is a folder',
    line: /^The file \.env cannot be read\./,
    apply: (f) => mkdirSync(join(f, '.env')),
    undo: (f) => rmSync(join(f, '.env'), { recursive: true }),
  },
  { title: 'space for some of the tables', line: FULL, apply: () => {}, empty: true, blocks: 100 },
];

/** Fills a folder as the first start does. In the full run, the first start must do that itself. */
export async function copyDemo(folder: string): Promise<void> {
  const demo = await createDemoDatabase('sqlite');
  cpSync(demo.env.DATA_DIR!, folder, { recursive: true });
  await demo.remove();
}

/** Starts on damaged folders. Each start must say why it fails in one line, and work after the damage is repaired. */
export async function startOnDamagedFolders(size: Size): Promise<{ refused: number; unclear: number }> {
  const intact = newFolder();
  await copyDemo(intact);
  if (!existsSync(databaseIn(intact))) {
    const { code } = await (await serve({ DATA_DIR: intact })).stop();
    if (code !== 0) throw new Error('the server did not shut down cleanly, so there is no folder to damage');
  }
  const readOnly = folderOnSmallDisk();
  const damages: readonly Damage[] = [
    ...DAMAGES,
    {
      title: 'a read-only folder',
      line: /^The data folder \S+ cannot be (written|made): /,
      ...(readOnly ? { folder: readOnly.folder } : {}),
      apply: (f) => (readOnly ? readOnly.makeReadOnly() : chmodSync(f, 0o500)),
      undo: (f) => (readOnly ? readOnly.makeWritable() : chmodSync(f, 0o700)),
    },
  ];
  let unclear = 0;
  try {
    for (const damage of damages) {
      const problem = await startDamaged(damage, intact, size);
      if (problem === undefined) continue;
      unclear += 1;
      console.log(`${damage.title}: ${problem}`);
    }
  } finally {
    readOnly?.remove();
  }
  return { refused: damages.length, unclear };
}

/** Returns what was wrong with the start, if anything. */
async function startDamaged(damage: Damage, intact: string, size: Size): Promise<string | undefined> {
  const { line, empty, blocks, folder = newFolder() } = damage;
  if (!empty) cpSync(intact, folder, { recursive: true });
  damage.apply(folder);
  const limited = ['sh', '-c', `ulimit -f ${blocks}; exec "$0" "$@"`, ...SERVE];
  const settings = {
    DATA_DIR: folder,
    PORT: '0',
    // With a limited file size, Node could not write the cache either.
    ...(size === 'full' || blocks !== undefined ? { NODE_DISABLE_COMPILE_CACHE: '1' } : {}),
  };
  const program = run(settings, blocks === undefined ? SERVE : limited, folder);
  const end = await Promise.race([program.ended, sleep(REFUSED_MAX_MS, undefined, { ref: false })]);
  if (end === undefined) await program.stop('SIGKILL');
  const code = end?.code;
  const lines = program.stderr().split('\n').slice(0, -1);
  damage.undo?.(folder);
  if (code !== 1 || lines.length !== 1 || !line.test(lines[0]!))
    return `exit code ${code}, signal ${end?.signal}, ${program.stderr()}`;
  // In the short run only if the start itself may have written something.
  if (size === 'short' && blocks === undefined) return undefined;
  // Repair it as the owner would: copy the backup over it, with free space again.
  if (!empty) cpSync(intact, folder, { recursive: true });
  const server = await serve({ DATA_DIR: folder }).catch((error) => String(error));
  if (typeof server === 'string') return `it does not start again: ${server}`;
  const { status } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
  await server.stop();
  return status === 200 ? undefined : `nobody can sign in afterwards: ${status}`;
}
