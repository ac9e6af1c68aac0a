import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createDemoDatabase, createTestDatabase, engines } from '../../support/databases.ts';
import { isNotRun } from '../../support/docs/notRun.ts';
import { replaceAll, runPage, useParts } from '../../support/docs/page.ts';
import { PAGES, proseOf, samplesOf } from '../../support/docs/samples.ts';
import { openShell } from '../../support/docs/shell.ts';
import { AS_NOBODY, isRoot, NOBODY } from '../../support/installedPackage.ts';
import { startReceiver } from '../../support/receiver.ts';

/** Pages that a server serves, and whose samples call it with the demo data. The last changes a merchant's channel. */
const WITH_DEMO = ['docs/api.md', 'docs/assistant.md', 'docs/mcp.md', 'docs/channels.md'];
/** Its samples start their own servers: the first with the embedded database, the others with PostgreSQL. */
const PRODUCTION = 'docs/production.md';

describe('the docs, with a server', () => {
  const parts = useParts(withDemo);
  for (const page of WITH_DEMO) describe(page, () => runPage(page, parts));

  it('the pages that the server serves link only to pages that it serves', async () => {
    const { url } = parts.shell;
    for (const page of WITH_DEMO) {
      for (const [, target] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target!)) continue;
        const { status } = await fetch(new URL(target!, `${url}/${page}`));
        assert.equal(status, 200, `${page}: ${target}`);
      }
    }
  });
});

async function withDemo() {
  const testDatabase = await createDemoDatabase('sqlite');
  const shell = await openShell(testDatabase.env);
  const receiver = await startReceiver();
  await shell.startServer('npm start');
  const standIns = {
    'http://127.0.0.1:8000': shell.url,
    'https://assistant.example/deskbell': receiver.url,
    'http://127.0.0.1:9000/': receiver.url,
    // The receiver is on this machine, and private addresses need to be allowed.
    'https://shop.example/hooks/deskbell': `${receiver.url} --allow-private`,
  };
  return { shell, receiver, testDatabase, standIns };
}

describe(PRODUCTION, { skip: engines.includes('postgres') ? false : 'no PostgreSQL' }, () => {
  const parts = useParts(async () => {
    const testDatabase = await createTestDatabase('postgres');
    const { asUser, uid, gid, commands } = serviceUser();
    const shell = await openShell({ DRAIN_SECONDS: '0' }, commands);
    const at = (path: string) => join(shell.folder, path);
    // Another user may read it, and write only where the samples say so.
    chmodSync(shell.folder, 0o755);
    for (const name of ['safe', 'backups', 'systemd', 'data']) mkdirSync(at(name), { mode: 0o755 });
    // As the unit's StateDirectory does.
    chownSync(at('data'), uid, gid);
    const { DATABASE_URL: url = '' } = testDatabase.env;
    const { username, host, pathname } = new URL(url);
    const standIns = {
      // The folder has links to the source.
      'npm run build': 'npm run build -- --to dist',
      '/opt/deskbell': at('opt'),
      'mkdir -p /etc/deskbell\n': '',
      '/etc/deskbell/deskbell.env': '.env',
      // Here the settings are in the folder of the shell.
      'cd /var/lib/deskbell\n': '',
      '/var/lib/deskbell': at('data'),
      '/var/backups': at('backups'),
      '/media/safe/deskbell-secret.key': at('safe/deskbell-secret.key'),
      '/etc/systemd/system': at('systemd'),
      'root:deskbell': `${process.getuid!()}:${gid}`,
      '-o deskbell -g deskbell': `-o ${uid} -g ${gid}`,
      'postgres://deskbell:password@db.internal/deskbell': url,
      'postgres://deskbell:password@one.internal:5432,two.internal:5432/deskbell': `postgres://${username}@${host},${host}${pathname}`,
    };
    const service = () => {
      const unit = readFileSync(at('systemd/deskbell.service'), 'utf8');
      assert.match(unit, /^User=deskbell$/m);
      assert.match(unit, /^StateDirectory=deskbell$/m);
      return `${asUser} ${replaceAll(/^ExecStart=(.+)$/m.exec(unit)![1]!, standIns)}`;
    };
    return { shell, testDatabase, standIns, service, asUser };
  });
  runPage(PRODUCTION, parts);
});

/**
 * The samples create a user and a service. Here both are stand-ins: the user is one that every system has, if this test
 * runs as root, and otherwise whoever runs it. The service is the command of the copied unit.
 */
function serviceUser() {
  const [uid, gid] = isRoot ? [NOBODY, NOBODY] : [process.getuid!(), process.getgid!()];
  const asUser = isRoot ? AS_NOBODY.join(' ') : '';
  // sudo passes on no settings. These two are not the reader's.
  const env = 'env -i PATH="$PATH" PORT="$PORT" DRAIN_SECONDS=0';
  const commands = `useradd() { :; }
systemctl() { :; }
sudo() { [ "$1 $2" = '-u deskbell' ] || return 1; shift 2; ${asUser} ${env} "$@"; }
`;
  return { uid, gid, asUser, commands };
}

describe('the other pages', () => {
  for (const page of PAGES.filter((one) => !WITH_DEMO.includes(one) && one !== PRODUCTION)) {
    if (samplesOf(page).some((sample) => sample.language !== 'text' && !isNotRun(sample))) {
      describe(page, () => {
        const open = async () => {
          const shell = await openShell();
          return { shell, standIns: { 'http://127.0.0.1:8000': shell.url } };
        };
        runPage(page, useParts(open));
      });
    }
  }
});
