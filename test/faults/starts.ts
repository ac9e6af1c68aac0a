import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecretKey } from '../../src/secrets.ts';
import { AURORA, call } from '../harness.ts';
import { newFolder, root, run, serve } from '../process.ts';
import type { Size } from './fault.ts';
import { roomOnSmallDisk } from './room.ts';

/** It is to be refused, not to run. */
const REFUSED_MAX_MS = 20_000;
const MAIN = join(root, 'src', 'main.ts');

/** Something that was done to a data folder, and the one line that tells of it. */
interface Harm {
  title: string;
  line: RegExp;
  /** To a folder with a database, or to an empty one. */
  do(folder: string): void;
  undo?(folder: string): void;
  empty?: true;
  folder?: string;
  /** Left out of a short run: another is borne in the same way. */
  fullOnly?: true;
  /** The room that files have there, in blocks of 512 bytes. */
  blocks?: number;
}

const DAMAGED = /^(The database in \S+ cannot be opened|The embedded database is damaged): [\w ]+\./;
const FULL = /^(The (data folder|database) \S*.*|The database) cannot be (opened|written|used): .+\.$/;

const inDatabase = (folder: string) => join(folder, 'deskbell.db');
function change(folder: string, how: (bytes: Buffer) => void): void {
  const bytes = readFileSync(inDatabase(folder));
  how(bytes);
  writeFileSync(inDatabase(folder), bytes);
}

const HARMS: readonly Harm[] = [
  {
    title: 'a database of other bytes',
    line: DAMAGED,
    do: (f) => writeFileSync(inDatabase(f), 'x'.repeat(50_000)),
  },
  {
    title: 'half a database',
    fullOnly: true,
    line: DAMAGED,
    do: (f) => truncateSync(inDatabase(f), 100_000),
  },
  {
    title: 'three pages of a database',
    fullOnly: true,
    line: DAMAGED,
    do: (f) => truncateSync(inDatabase(f), 3 * 4096),
  },
  {
    title: 'a database with a hole',
    line: DAMAGED,
    do: (f) => change(f, (bytes) => bytes.fill(0, 4096, 20 * 4096)),
  },
  {
    title: 'a scratched database',
    fullOnly: true,
    line: DAMAGED,
    do: (f) =>
      change(f, (bytes) => {
        for (let at = 4096; at < bytes.length; at += 37) bytes[at] = at % 251;
      }),
  },
  {
    title: 'a key of other bytes',
    fullOnly: true,
    line: /^The key in \S+ is too short/,
    do: (f) => writeFileSync(join(f, 'secret.key'), Buffer.from([0, 255, 1, 2, 3])),
  },
  {
    title: 'another key',
    line: /^The key in \S+ is not the key of this database/,
    do: (f) => writeFileSync(join(f, 'secret.key'), newSecretKey()),
  },
  {
    title: 'a folder for an .env',
    line: /^The file \.env cannot be read\./,
    do: (f) => mkdirSync(join(f, '.env')),
    undo: (f) => rmSync(join(f, '.env'), { recursive: true }),
  },
  { title: 'no room at all', fullOnly: true, line: FULL, do: () => {}, empty: true, blocks: 0 },
  { title: 'room for a part of the tables', line: FULL, do: () => {}, empty: true, blocks: 100 },
  { title: 'no room to go on', fullOnly: true, line: FULL, do: () => {}, blocks: 0 },
];

/** Starts on harmed folders: each must say why in one line, and start again once the harm is undone. */
export async function refusedStarts(size: Size): Promise<{ refused: number; unclear: number }> {
  const whole = newFolder();
  const { code } = await (await serve({ DATA_DIR: whole })).stop();
  if (code !== 0) throw new Error('a server that was stopped did not end in order: there is nothing to harm');
  const readOnly = roomOnSmallDisk();
  const harms: readonly Harm[] = [
    ...HARMS.filter(({ fullOnly }) => size === 'full' || !fullOnly),
    {
      title: 'a folder that may not be written',
      line: /^The data folder \S+ cannot be (written|made): /,
      ...(readOnly ? { folder: readOnly.folder } : {}),
      do: (f) => (readOnly ? readOnly.lock() : chmodSync(f, 0o500)),
      undo: (f) => (readOnly ? readOnly.unlock() : chmodSync(f, 0o700)),
    },
  ];
  let unclear = 0;
  try {
    for (const harm of harms) {
      const problem = await suffer(harm, whole, size);
      if (problem === undefined) continue;
      unclear += 1;
      console.log(`${harm.title}: ${problem}`);
    }
  } finally {
    readOnly?.remove();
  }
  return { refused: harms.length, unclear };
}

/** Gives what was wrong with how it was borne. */
async function suffer(harm: Harm, whole: string, size: Size): Promise<string | undefined> {
  const { line, empty, blocks, folder = newFolder() } = harm;
  if (!empty) cpSync(whole, folder, { recursive: true });
  harm.do(folder);
  const command = [process.execPath, MAIN];
  const limited = ['sh', '-c', `ulimit -f ${blocks}; exec "$0" "$@"`, ...command];
  const settings = { DATA_DIR: folder, PORT: '0', NODE_DISABLE_COMPILE_CACHE: '1' };
  const program = run(settings, blocks === undefined ? command : limited, folder);
  const end = await Promise.race([program.ended, sleep(REFUSED_MAX_MS, undefined, { ref: false })]);
  if (end === undefined) await program.stop('SIGKILL');
  const code = end?.code;
  const said = program.stderr().split('\n').slice(0, -1);
  harm.undo?.(folder);
  if (code !== 1 || said.length !== 1 || !line.test(said[0]!))
    return `exit code ${code}, ${program.stderr()}`;
  // In short only where the start itself has written something.
  if (size === 'short' && blocks === undefined) return undefined;
  // As an owner would: the files from the backup over what is there, and room given back.
  if (!empty) cpSync(whole, folder, { recursive: true });
  const server = await serve({ DATA_DIR: folder }).catch((error) => String(error));
  if (typeof server === 'string') return `it does not start again: ${server}`;
  const { status } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
  await server.stop();
  return status === 200 ? undefined : `nobody can sign in afterwards: ${status}`;
}
