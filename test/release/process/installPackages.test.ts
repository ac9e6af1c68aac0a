import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { findProgram } from '../../../scripts/services.ts';
import { isRoot } from '../../support/installedPackage.ts';
import { newFolder, root, run } from '../../support/process.ts';

const CONTROL = `Package: deskbell-probe
Version: 1
Architecture: all
Maintainer: Tester <tester@shop.example>
Description: a program for tests
`;

/** Debian's real package manager with its own folders: one package to install, and nothing of the system. */
function newSystem(): string {
  const folder = newFolder();
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text, { mode });
    return join(folder, path);
  };
  write('package/usr/bin/deskbell-probe', '#!/bin/sh\n', 0o755);
  write('package/DEBIAN/control', CONTROL);
  const archive = write('repository/probe.deb', '');
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', join(folder, 'package'), archive]);
  const bytes = readFileSync(archive);
  const sum = createHash('sha256').update(bytes).digest('hex');
  write('repository/Packages', `${CONTROL}Filename: ./probe.deb\nSize: ${bytes.length}\nSHA256: ${sum}\n`);
  for (const name of ['info', 'updates', 'triggers'])
    mkdirSync(join(folder, 'root/var/lib/dpkg', name), { recursive: true });
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'log'])
    mkdirSync(join(folder, name), { recursive: true });
  const sources = write('sources.list', `deb [trusted=yes] file:${folder}/repository ./\n`);
  write(
    'apt.conf',
    `Dir::State "${folder}/state";
Dir::State::status "${write('root/var/lib/dpkg/status', '')}";
Dir::Cache "${folder}/cache";
Dir::Log "${folder}/log";
Dir::Etc::SourceList "${sources}";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Parts "/dev/null";
APT::Sandbox::User "root";
DPkg::Options { "--root=${folder}/root"; };
`,
  );
  return folder;
}

/** Locks a file as Debian's package manager does, until the input ends. */
const HOLD = `open(F, "+>>", $ARGV[0]) or die; my $lock = pack("s s x4 q q i x4", 1, 0, 0, 0, 0); $| = 1;
fcntl(F, 6, $lock) or die "no lock"; print "held\\n"; <STDIN>;`;

/** Released with the test, at the latest. */
async function hold(t: TestContext, file: string): Promise<ChildProcess> {
  const holder = spawn('perl', ['-e', HOLD, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => holder.stdin.end());
  await once(holder.stdout, 'data');
  return holder;
}

const isDebian = isRoot && ['apt-get', 'dpkg-deb', 'perl'].every(findProgram) && process.platform === 'linux';
describe('a Debian package that the tests need', { skip: isDebian ? false : 'needs root and Debian' }, () => {
  const install = (folder: string, waitMaxMs?: number) => {
    const { href } = new URL('../../../scripts/', import.meta.url);
    const script =
      waitMaxMs === undefined
        ? `import { findOrInstall } from '${href}services.ts'; console.log(findOrInstall('deskbell-probe', 'deskbell-probe'));`
        : `import { installDebianPackage } from '${href}apt.ts'; console.log(installDebianPackage('deskbell-probe', ${waitMaxMs}));`;
    const settings = {
      APT_CONFIG: join(folder, 'apt.conf'),
      PATH: `${folder}/root/usr/bin:${process.env.PATH}`,
    };
    return run(settings, [process.execPath, '--input-type=module', '--eval', script], root);
  };
  const LOCKS = [
    'state/lists/lock',
    'cache/archives/lock',
    'root/var/lib/dpkg/lock-frontend',
    'root/var/lib/dpkg/lock',
  ];

  for (const lock of LOCKS) {
    it(`is installed when another process has released ${lock}`, async (t) => {
      const folder = newSystem();
      const holder = await hold(t, join(folder, lock));
      const program = install(folder);
      await program.waitForOutput(/^Another process uses the package manager\. Waiting for it …/m);
      holder.stdin!.end();
      assert.equal((await program.ended).code, 0, program.stderr());
      assert.match(program.stdout(), /\/root\/usr\/bin\/deskbell-probe\n$/);
    });
  }

  it('that cannot be installed is reported in one line', async (t) => {
    const folder = newSystem();
    const holder = await hold(t, join(folder, LOCKS[1]!));
    const locked = install(folder, 0);
    await locked.ended;
    assert.match(
      locked.stdout(),
      /^Could not install deskbell-probe: another process still uses the package manager\. Could not get lock \S+\/archives\/lock\. It is held by process \d+ \(perl\)\n$/,
    );
    holder.stdin!.end();
    writeFileSync(join(folder, 'sources.list'), '');
    const missing = install(folder, 0);
    await missing.ended;
    assert.match(
      missing.stdout(),
      /^Could not install deskbell-probe: E: Unable to locate package deskbell-probe\n$/,
    );
  });
});
