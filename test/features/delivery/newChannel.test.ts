import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runAsProcess as runCommand } from '../../support/command.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { root, type Serving, serve } from '../../support/process.ts';
import { AURORA, call, NOTIFICATIONS, onEachEngine, QUESTION } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

/** A new channel is one folder and one line in registry.ts. This adds one, to a copy of the sources. */

const LINE = `export { LOGBOOK } from '../../logbook/descriptor.ts';\n`;
const DESCRIPTOR = `import { appendFileSync, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ChannelDescriptor, DOUBLING_PAUSES_SECONDS } from '../../../channel.ts';
import { matches } from '../../../fields.ts';

type LogbookSettings = { file: string; stamp: string; loud: boolean };

export const LOGBOOK: ChannelDescriptor<LogbookSettings> = {
  name: 'logbook',
  about: 'Appends each message to a file',
  fix: 'Create the folder, or correct the file',
  isRemote: true,
  reportsStatus: false,
  retryPausesSeconds: DOUBLING_PAUSES_SECONDS,
  fields: [
    {
      kind: 'text',
      key: 'file',
      variable: 'LOGBOOK_FILE',
      option: 'file',
      value: 'PATH',
      about: 'the file to append to',
      isValid: matches(/^[/]/),
      mustBe: 'an absolute path',
    },
    { kind: 'flag', key: 'loud', variable: 'LOGBOOK_LOUD', option: 'loud', about: 'write in capitals' },
    {
      kind: 'text',
      key: 'stamp',
      variable: 'LOGBOOK_STAMP',
      option: 'ink-stamp',
      value: 'STAMP',
      about: 'Stamp',
      secret: true,
      isValid: matches(/^.{8,}$/),
      mustBe: 'at least 8 characters',
    },
  ],
  open: ({ file, stamp, loud }) => ({
    type: LOGBOOK,
    id: 'logbook:' + file,
    plan: async () => ({ go: 'text' }),
    async send({ recipient, content }) {
      appendFileSync(file, stamp + ' ' + recipient + ' ' + (loud ? content.toUpperCase() : content) + '\\n');
      return { outcome: 'sent', messageId: undefined, state: 'delivered' };
    },
    check: async () => (existsSync(dirname(file)) ? undefined : 'the folder does not exist.'),
  }),
  inbound: {
    prefix: '/logbook',
    routes: async () => ({ now }) => async (app) => {
      app.get('/time', { schema: { hide: true } as object }, async () => ({ now: now().toISOString() }));
    },
  },
};
`;

const copy = mkdtempSync(join(tmpdir(), 'deskbell-new-channel-'));
const folder = join(copy, 'src', 'delivery', 'channels');
before(() => {
  for (const name of ['src', 'migrations', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(folder, 'logbook'));
  writeFileSync(join(folder, 'logbook', 'descriptor.ts'), DESCRIPTOR);
  appendFileSync(join(folder, 'registry.ts'), LINE);
});
after(() => rmSync(copy, { recursive: true, force: true }));

describe('a new channel', () => {
  it('is one folder and one line, and compiles', () => {
    // With several threads it is no faster next to other tests, and takes half as much again.
    const { status, stdout } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['--singleThreaded'], {
      cwd: copy,
    });
    assert.equal(status, 0, String(stdout));
  });
});

onEachEngine('a new channel', (engine) => {
  let testDatabase: TestDatabase;
  let server: Serving;
  let token: string;
  let books: string;
  let file: string;
  before(async () => {
    testDatabase = await createDemoDatabase(engine);
    books = mkdtempSync(join(copy, 'books-'));
    file = join(books, 'book.txt');
    server = await serve(testDatabase.env, [process.execPath, join(copy, 'src', 'cli', 'main.ts'), 'serve']);
    const { json } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
    token = json.access_token;
  });
  after(async () => {
    await server?.stop();
    await testDatabase?.remove();
  });
  const deskbell = (args: string[], { input = '', env = {} } = {}) =>
    runCommand(args, {
      env: { ...testDatabase.env, PORT: '0', ...env },
      input,
      program: [process.execPath, join(copy, 'src', 'cli', 'main.ts')],
    });

  it('is set and shown on the command line, without its secret', async () => {
    const help = await deskbell(['channel', 'set', '--help']);
    assert.match(help.stdout, /logbook +Appends each message to a file\n/);
    assert.match(help.stdout, /logbook +ink_stamp\n/);
    assert.match(help.stdout, /--file PATH +logbook: the file to append to\n/);

    const wrong = await deskbell(['channel', 'set', 'logbook', '--merchant', '1'], { input: 'short' });
    assert.equal(
      wrong.stderr,
      '--file must be an absolute path.\nThe secret ink_stamp must be at least 8 characters.\n',
    );
    const stray = await deskbell(['channel', 'set', 'webhook', '--merchant', '1', '--loud']);
    assert.match(stray.stderr, /^--loud belongs to the channel logbook, not to webhook\./);

    const set = await deskbell(['channel', 'set', 'logbook', '--merchant', '1', '--file', file, '--loud'], {
      input: 'top-secret',
    });
    assert.equal(set.code, 0, set.stderr);
    const { json } = await deskbell(['channel', 'show', '--merchant', '1', '--json']);
    assert.deepEqual(
      [json.channel, json.own_channel, json.settings],
      ['logbook', true, { file, loud: 'yes', ink_stamp: 'set' }],
    );
  });

  it('is shown by the API, without its secret', async () => {
    const { status, json } = await call(server.url, 'GET', '/api/v1/channel', { token });
    assert.equal(status, 200);
    assert.deepEqual(json, {
      channel: 'logbook',
      own: true,
      settings: { file, loud: true },
      number_id: null,
      daily_limit: 250,
      used: 0,
      state: 'ok',
      code: null,
      since: null,
      until: null,
    });
  });

  it('delivers an answer', async () => {
    const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
    const address = raised.headers.get('location')!;
    const answer = { answer: 'Yes, a Colombian one.' };
    await call(server.url, 'POST', `${address}/answer`, { token, body: answer });
    // The other process first creates the file, and then writes the line.
    await until(
      'the line is written',
      () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'),
      60_000,
    );
    assert.match(readFileSync(file, 'utf8'), /^top-secret \+\d+ YES, A COLOMBIAN ONE\.\n$/);
  });

  it('has its own routes', async () => {
    const { status, json } = await call(server.url, 'GET', '/logbook/time');
    assert.equal(status, 200);
    assert.match(json.now, /^\d{4}-/);
  });

  it('is checked by doctor and channel test', async () => {
    assert.match((await deskbell(['doctor'])).stdout, /✔ 1 own channel of merchants checked\./);
    assert.equal((await deskbell(['channel', 'test', '--merchant', '1'])).code, 0);
    rmSync(books, { recursive: true });
    assert.match(
      (await deskbell(['doctor'])).stdout,
      /✖ The channel of merchant 1, logbook, has a problem: the folder does not exist\.\n +Create the folder, or correct the file with "npm run deskbell -- channel set/,
    );
  });

  it('is read from the environment', async () => {
    const wrong = await deskbell(['doctor'], { env: { CHANNEL: 'logbook', LOGBOOK_STAMP: 'top-secret' } });
    assert.match(
      wrong.stdout,
      /✖ LOGBOOK_FILE must be set with CHANNEL=logbook: it must be an absolute path\.\n/,
    );
    const settings = { CHANNEL: 'logbook', LOGBOOK_STAMP: 'top-secret', LOGBOOK_FILE: join(copy, 'all.txt') };
    const right = await deskbell(['doctor'], { env: settings });
    assert.match(right.stdout, /✔ The channel from the settings, logbook, works\./);
  });
});
