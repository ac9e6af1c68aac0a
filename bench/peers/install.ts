import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runProgram } from '../processes.ts';

/** Installs a peer into its own folder, not into the project's node_modules. Does nothing if it is installed. */

const BYTES_PER_BLOCK = 512;

export async function install(folder: string): Promise<void> {
  const sources = readdirSync(folder).filter((name) => /^package.*json$|\.prisma$/.test(name));
  const hash = createHash('sha256');
  for (const name of sources) hash.update(readFileSync(join(folder, name)));
  const fingerprint = hash.digest('hex');
  const mark = join(folder, 'node_modules/.installed');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === fingerprint) return;
  console.log(`Installing ${basename(folder)} …`);
  // Install scripts do not run, so no package can download or compile anything.
  await runProgram('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { folder });
  await runProgram('npm', ['run', 'setup', '--if-present'], { folder });
  writeFileSync(mark, fingerprint);
}

/** The disk space of a peer, including generated sources. */
export function megabytesOf(folder: string): number {
  return toMegabytes(diskBlocks(folder));
}

/** The disk space of the service in production, without development packages. */
export async function ownMegabytes(): Promise<{ withNode: number; withoutNode: number }> {
  const folder = new URL('../../', import.meta.url).pathname;
  const list = await runProgram('npm', ['ls', '--omit=dev', '--all', '--parseable'], { folder });
  const packages = list.split('\n').filter((path) => path.includes('/node_modules/'));
  const blocksOf = (paths: readonly string[]) =>
    paths.reduce((sum, path) => sum + diskBlocks(path, ['node_modules']), 0);
  const isNode = (path: string) => basename(path).startsWith('node-linux-');
  return {
    withNode: toMegabytes(blocksOf(packages)),
    withoutNode: toMegabytes(blocksOf(packages.filter((path) => !isNode(path)))),
  };
}

const toMegabytes = (blocks: number) => (blocks * BYTES_PER_BLOCK) / 1024 ** 2;

function diskBlocks(path: string, without: readonly string[] = []): number {
  const status = lstatSync(path);
  if (!status.isDirectory()) return status.blocks;
  const names = readdirSync(path).filter((name) => !without.includes(name));
  return names.reduce((sum, name) => sum + diskBlocks(join(path, name), without), status.blocks);
}
