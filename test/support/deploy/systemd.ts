import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOrInstall } from '../../../scripts/services.ts';
import { deployFile } from './proxies.ts';

export const UNITS = ['deskbell.service', 'deskbell-worker.service'] as const;
export const unitText = (unit: string) => readFileSync(deployFile(`systemd/${unit}`), 'utf8');
/** All values of a key, in order. */
export const valuesOf = (text: string, key: string): string[] =>
  [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!);

/** The system calls that a unit allows: its lists without those that it takes back. */
function allowedCalls(unit: string): string[] {
  const calls = new Set<string>();
  for (const value of valuesOf(unitText(unit), 'SystemCallFilter')) {
    const names = value.replace(/^~/, '').split(' ').flatMap(callsOf);
    for (const name of names) value.startsWith('~') ? calls.delete(name) : calls.add(name);
  }
  return [...calls];
}

function callsOf(name: string): string[] {
  if (!name.startsWith('@')) return [name];
  const text = execFileSync('systemd-analyze', ['syscall-filter', '--no-pager', name], { encoding: 'utf8' });
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap(callsOf);
}

/** Debian's, which has the library for filters of system calls. */
const PYTHON = '/usr/bin/python3';
const FILTER = fileURLToPath(new URL('underSyscallFilter.py', import.meta.url));

interface Installation {
  /** Becomes /opt/deskbell. */
  prefix: string;
  /** Becomes /var/lib/deskbell. Belongs to the user. */
  state: string;
  user: number;
  /** For a file of this test, readable for the user. */
  folder: string;
}

/**
 * The command of a unit as systemd runs it: in its folder, as an unprivileged user, with a read-only file system except
 * for the state directory and /tmp, with the settings in /etc/deskbell and with the filter of system calls.
 */
export function commandOf(unit: string, { prefix, state, user, folder }: Installation): string[] {
  const [start] = valuesOf(unitText(unit), 'ExecStart');
  const [workingDirectory] = valuesOf(unitText(unit), 'WorkingDirectory');
  const calls = join(folder, 'system-calls');
  writeFileSync(calls, allowedCalls(unit).join('\n'), { mode: 0o644 });
  const script = `set -e
mount -t tmpfs tmpfs /opt && mkdir /opt/deskbell && mount --bind "$1" /opt/deskbell
mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/deskbell && mount --bind "$2" /var/lib/deskbell
mkdir -p /etc && settings=$(cat "$3") && mount -t tmpfs tmpfs /etc && mkdir /etc/deskbell
printf '%s\\n' "$settings" > /etc/deskbell/deskbell.env && chmod 0644 /etc/deskbell/deskbell.env
mount -o remount,ro,bind /opt/deskbell && mount -o remount,bind,ro /
cd ${workingDirectory}
shift 3
exec "$@"`;
  const asUser = [
    `--reuid=${user}`,
    `--regid=${user}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
  ];
  return [
    ...['unshare', '--mount', 'sh', '-c', script, 'sh', prefix, state, deployFile('systemd/deskbell.env')],
    ...['setpriv', ...asUser, PYTHON, FILTER, calls, ...start!.split(' ')],
  ];
}

/** Whether system calls can be filtered here. As root on Debian, it installs what is missing. */
export function installFilter(): boolean {
  const hasLibrary = () => spawnSync(PYTHON, ['-c', 'import seccomp'], { stdio: 'ignore' }).status === 0;
  if (!hasLibrary()) findOrInstall('library python3-seccomp', 'python3-seccomp');
  return hasLibrary() && findOrInstall('systemd-analyze', 'systemd') !== undefined;
}
