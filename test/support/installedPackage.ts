import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './packedClient.ts';
import { root } from './process.ts';

/** Deskbell as operators get it: built, packed, and installed by npm into an empty prefix. */
export interface InstalledPackage {
  /** The folder that other users may read, for data of the test, too. */
  folder: string;
  tarball: string;
  prefix: string;
  /** The installed files. */
  files: string;
  /** The program, as an unprivileged user if this is root: its files then belong to somebody else. */
  program: [string, ...string[]];
  remove(): void;
}

export const isRoot = process.getuid?.() === 0;
export const NOBODY = 65_534;
export const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] as const;

export async function installPackage(): Promise<InstalledPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-package-'));
  chmodSync(folder, 0o755);
  const prefix = join(folder, 'opt');
  const quiet = ['--silent', '--no-audit', '--no-fund'];
  await runTool(process.execPath, [join(root, 'scripts/build.ts'), '--to', join(folder, 'dist')], root);
  const packed = await runTool('npm', ['pack', ...quiet, './dist'], folder);
  const tarball = join(folder, packed.trim());
  await runTool(
    'npm',
    ['install', ...quiet, '--prefer-offline', '--global', '--prefix', prefix, tarball],
    folder,
  );
  const program = join(prefix, 'bin/deskbell');
  return {
    folder,
    tarball,
    prefix,
    files: join(prefix, 'lib/node_modules/deskbell'),
    program: isRoot ? [...AS_NOBODY, program] : [program],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
