import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { COMMANDS } from '../src/cli/program.ts';
import type { Engine } from '../src/database/database.ts';
import { run } from './command.ts';
import { createDemoDatabase, createTestDatabase, engines } from './databases.ts';
import { isNotRun, NOT_RUN } from './docs/notRun.ts';
import { replaceAll, runPage, useParts } from './docs/page.ts';
import { firstLineOf, PAGES, proseOf, readPage, type Sample, samplesOf, titleOf } from './docs/samples.ts';
import { openShell } from './docs/shell.ts';
import { onEachEngine } from './harness.ts';
import { AS_NOBODY, isRoot, NOBODY } from './installedPackage.ts';
import { root } from './process.ts';
import { startReceiver } from './receiver.ts';

const samples = PAGES.flatMap(samplesOf);
const LANGUAGES = ['sh', 'js', 'json', 'http', 'sse', 'yaml', 'text'];
/** Pages that a server serves, and whose samples call it with the demo data, on both engines. The last changes a merchant's channel. */
const WITH_DEMO = ['docs/api.md', 'docs/assistant.md', 'docs/mcp.md', 'docs/channels.md'];
/** Its samples start their own servers: the first with the embedded database, the others with PostgreSQL. */
const PRODUCTION = 'docs/production.md';

describe('the samples in the docs', () => {
  it('have a language that this test can check', () => {
    assert.ok(samples.length > 30);
    for (const sample of samples) assert.ok(LANGUAGES.includes(sample.language), titleOf(sample));
  });

  it('are skipped only if they are on the list, and the list has no other entries', () => {
    for (const { page, first } of NOT_RUN) {
      const found = samples.filter((sample) => sample.page === page && firstLineOf(sample) === first);
      assert.equal(found.length, 1, `${page}: ${first}`);
    }
    for (const sample of samples.filter(({ language }) => language === 'yaml')) {
      assert.ok(isNotRun(sample), titleOf(sample));
    }
  });

  for (const sample of samples.filter(isNotRun)) {
    it(`${titleOf(sample)}: is not run, but its syntax is valid`, () => checkSyntax(sample));
  }
});

onEachEngine('the docs, with a server', (engine) => {
  const parts = useParts(() => withDemo(engine));
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

async function withDemo(engine: Engine) {
  const testDatabase = await createDemoDatabase(engine);
  // Its samples run with npm on the first engine.
  const shell = await openShell(testDatabase.env, { withoutNpm: engine !== engines[0] });
  const receiver = await startReceiver();
  await shell.startServer('npm start');
  const standIns = {
    'http://127.0.0.1:8000': shell.url,
    'https://assistant.example/deskbell': receiver.url,
    'http://127.0.0.1:9000/': receiver.url,
    // The receiver is on this machine, and private addresses need to be allowed.
    'https://shop.example/hooks/deskbell': `${receiver.url} --allow-private`,
  };
  return { engine, shell, receiver, testDatabase, standIns };
}

describe(PRODUCTION, { skip: engines.includes('postgres') ? false : 'no PostgreSQL' }, () => {
  const parts = useParts(async () => {
    const testDatabase = await createTestDatabase('postgres');
    const { asUser, uid, gid, commands } = serviceUser();
    const shell = await openShell({ DRAIN_SECONDS: '0' }, { commands });
    const at = (path: string) => join(shell.folder, path);
    // Another user may read it, and write only where the samples say so.
    chmodSync(shell.folder, 0o755);
    for (const name of ['root', 'backups', 'systemd', 'data']) mkdirSync(at(name), { mode: 0o755 });
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
      '/var/lib/deskbell': at('data'),
      '/var/backups': at('backups'),
      '/root/deskbell-secret.key': at('root/deskbell-secret.key'),
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
    return { engine: 'postgres' as const, shell, testDatabase, standIns, service, asUser };
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
          return { engine: 'sqlite' as const, shell, standIns: { 'http://127.0.0.1:8000': shell.url } };
        };
        runPage(page, useParts(open));
      });
    }
  }
});

function checkSyntax({ language, text }: Sample): void {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
  if (language === 'yaml') {
    for (const line of lines) assert.match(line, /^(- )?\w+:( .+)?$/);
  } else if (language === 'json') {
    JSON.parse(text);
  } else {
    assert.equal(language, 'sh');
    const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const [, name] of text.matchAll(/npm (?:run )?([\w:]+)/g)) assert.ok(name! in scripts, name);
  }
}

describe('the text of the docs', () => {
  // As they are called in a clone and when it is installed, or without the program's name.
  const called =
    /^(?:sudo -u deskbell )?(?:npm run deskbell --|(?:\/opt\/deskbell\/)?(?:bin\/)?deskbell) (.+)$/s;
  const bare = new RegExp(`^(?:${Object.keys(COMMANDS).join('|')})(?: .+)?$`, 's');
  const mentioned = new Set(
    PAGES.flatMap((page) => [...proseOf(page).matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)])
      .flatMap(([, code]) => called.exec(code!)?.[1] ?? bare.exec(code!)?.[0] ?? [])
      .map((command) => command.replaceAll(/\s+/g, ' ')),
  );

  it('mentions npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const names = PAGES.flatMap((page) => [...proseOf(page).matchAll(/npm run ([\w:]+)/g)]).map(
      ([, name]) => name!,
    );
    assert.ok(names.length > 10);
    for (const name of names) assert.ok(name in scripts, name);
  });

  it('mentions commands', () => assert.ok(mentioned.size > 10));
  for (const command of mentioned) {
    it(`mentions "${command}", which exists with these options`, async () => {
      const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
      const { code, stderr } = await run([...words, '--help']);
      assert.equal(code, 0, stderr);
    });
  }

  for (const page of PAGES) {
    it(`has links in ${page} that work`, () => {
      for (const [, target] of proseOf(page).matchAll(/\]\(([^)\s]+)\)|(?:src)="([^"]+)"/g)) {
        if (target === undefined || /^https?:/.test(target)) continue;
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : join(dirname(page), path);
        assert.ok(existsSync(join(root, file)), `${page}: ${target}`);
        if (anchor !== undefined) assert.ok(anchorsOf(file).includes(anchor), `${page}: ${target}`);
      }
    });
  }
});

/** The anchors that GitHub generates. */
const anchorsOf = (page: string) =>
  [...readPage(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\d _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('the project structure in the README', () => {
  const [, map] = samplesOf('README.md').filter(({ language }) => language === 'text');
  const entries = entriesOf(map!.text);

  it('names only files and folders that exist', () => {
    assert.ok(entries.length > 20);
    for (const entry of entries) assert.ok(existsSync(join(root, entry)), entry);
  });

  it('names every folder of the source', () => {
    const folders = readdirSync(join(root, 'src')).filter((name) =>
      statSync(join(root, 'src', name)).isDirectory(),
    );
    for (const name of folders) assert.ok(entries.includes(`src/${name}/`), name);
  });

  it('names the right files in the flow of a request', () => {
    const [flow] = samplesOf('README.md').filter(({ language }) => language === 'text');
    let folder = '';
    let files = 0;
    for (const line of flow!.text.split('\n')) {
      const [, path] = /(src\/\S+)/.exec(line) ?? [];
      const [, file] = /^ *│? +(\S+\.ts|\S+\/) /.exec(line) ?? [];
      if (path) {
        assert.ok(existsSync(join(root, path)), path);
        folder = path;
      } else if (file) {
        files += 1;
        assert.ok(existsSync(join(root, folder, file)), `${folder}${file}`);
      }
    }
    assert.ok(files > 5);
  });
});

/** The paths of an indented tree. A line may have several names, separated by commas. */
function entriesOf(tree: string): string[] {
  const entries: string[] = [];
  const parents: string[] = [];
  for (const line of tree.split('\n')) {
    const [, indent = '', names] = /^( *)(\S+(?:, \S+)*)(?: {2,}|$)/.exec(line) ?? [];
    if (!names) continue;
    const depth = indent.length / 2;
    const paths = names.split(', ').map((name) => parents.slice(0, depth).join('') + name);
    entries.push(...paths);
    parents[depth] = names;
  }
  return entries;
}
