import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { createTestDatabase, engines } from '../support/databases.ts';
import { newFolder, type Serving, serve } from '../support/process.ts';
import {
  AURORA,
  BOREALIS,
  call,
  NOTIFICATIONS,
  OPERATOR,
  onEachEngine,
  QUESTION,
  useDeskbell,
} from '../support/server.ts';

const signIn = ({ url }: Serving, { email, password }: typeof AURORA) =>
  call(url, 'POST', '/api/v1/auth/login', { body: { email, password } });

describe('the first start, with only a folder and a port set', () => {
  const folder = newFolder();
  let server: Serving;
  before(async () => {
    server = await serve({ DATA_DIR: folder });
    await server.waitForOutput(/curl .*\n/);
  });

  it('prints the URL of the API docs first, and it works', async () => {
    const [first] = /http\S+/.exec(server.stdout()) ?? [];
    assert.equal(first, `${server.url}/docs`);
    assert.equal((await call(server.url, 'GET', '/docs')).status, 200);
  });

  it('prints the three demo sign-ins, and each signs in', async () => {
    const printed = [...server.stdout().matchAll(/^ +(\S+@\S+) +(\S+)/gm)];
    const users = printed.map(([, email = '', password = '']) => ({ email, password }));
    assert.deepEqual(users, [AURORA, BOREALIS, OPERATOR]);
    for (const user of users) assert.equal((await signIn(server, user)).status, 200);
  });

  it('prints a curl command that works when it is pasted into a shell', () => {
    const lines = server.stdout().split('\n');
    const curl = lines.filter((line) => line.trim().startsWith('curl '));
    assert.equal(curl.length, 1);
    const answer = JSON.parse(execFileSync('sh', ['-c', curl[0]!], { encoding: 'utf8' }));
    assert.equal(answer.token_type, 'bearer');
  });

  it('keeps its secret key in a file that only its owner can read', () => {
    assert.equal(statSync(join(folder, 'secret.key')).mode & 0o777, 0o600);
  });

  it('keeps everything after a restart: ids, passwords, tokens', async () => {
    const { access_token: token, refresh_token } = (await signIn(server, AURORA)).json;
    const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
    const list = await call(server.url, 'GET', `${NOTIFICATIONS}/`, { token });
    await server.stop();

    server = await serve({ DATA_DIR: folder });
    const again = await call(server.url, 'GET', `${NOTIFICATIONS}/`, { token });
    assert.equal(again.status, 200);
    assert.equal(again.text, list.text);
    assert.equal(raised.headers.get('location'), `${NOTIFICATIONS}/${again.json[0].id}`);
    assert.equal((await signIn(server, AURORA)).status, 200);
    const refreshed = await call(server.url, 'POST', '/api/v1/auth/refresh', { body: { refresh_token } });
    assert.equal(refreshed.status, 200);
    await server.stop();
  });
});

describe('settings in a file', () => {
  it('are read from .env, and the environment takes precedence: no demo with DEMO=false', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, '.env'), 'DEMO=false\nDATA_DIR=from-file\n');
    const server = await serve({ DATA_DIR: 'from-environment' }, undefined, folder);
    await stopAndAssertDemo(server, false);
    assert.deepEqual(readdirSync(folder).sort(), ['.env', 'from-environment']);
  });
});

onEachEngine('the demo', (engine) => {
  const deskbell = useDeskbell(engine);
  const rows = (sql: string) => deskbell.database.all<Record<string, unknown>>(sql);

  it('is two merchants with an owner each, and an operator', async () => {
    assert.deepEqual((await rows('select id, name from merchants order by id')).map(plain), [
      { id: 1, name: 'Aurora Coffee' },
      { id: 2, name: 'Borealis Books' },
    ]);
    assert.deepEqual((await rows('select merchant_id, email, role from users order by id')).map(plain), [
      { merchant_id: 1, email: AURORA.email, role: 'owner' },
      { merchant_id: 2, email: BOREALIS.email, role: 'owner' },
      { merchant_id: null, email: OPERATOR.email, role: 'admin' },
    ]);
    for (const user of [AURORA, BOREALIS, OPERATOR]) await deskbell.signIn(user.email, user.password);
  });

  it('has five conversations, each with a valid phone number', async () => {
    const all = await rows('select id, merchant_id, customer_name, customer_phone from conversations');
    const merchants = Object.fromEntries(all.map(({ id, merchant_id }) => [id, merchant_id]));
    assert.deepEqual(merchants, { 1: 1, 2: 1, 3: 1, 4: 2, 5: 2 });
    for (const { customer_name, customer_phone } of all) {
      assert.match(String(customer_name), /\S/);
      assert.match(String(customer_phone), /^\+\d{8,15}$/);
    }
  });

  it('shows each merchant both types and both states', async () => {
    for (const { email, password } of [AURORA, BOREALIS]) {
      const token = await deskbell.signIn(email, password);
      const { json } = await deskbell.call('GET', `${NOTIFICATIONS}/`, { token });
      const shown = (key: string) => [...new Set(json.map((one: Record<string, string>) => one[key]))].sort();
      assert.deepEqual(shown('notification_type'), ['user_question_request', 'user_support_request']);
      assert.deepEqual(shown('status'), ['answered', 'requested']);
    }
  });
});

/** SQLite returns rows without a prototype. */
const plain = (row: object) => ({ ...row });

describe('the demo is created', { concurrency: 2 }, () => {
  for (const [title, engine, settings, written] of [
    ['not with NODE_ENV=production', 'sqlite', { NODE_ENV: 'production' }, false],
    ['not if other machines can reach the server', 'sqlite', { HOST: '0.0.0.0' }, false],
    ['with another name of this machine', 'sqlite', { HOST: 'localhost' }, true],
    ['not in PostgreSQL by default', 'postgres', {}, false],
    ['in PostgreSQL with DEMO=true', 'postgres', { DEMO: 'true' }, true],
  ] as const) {
    if (!engines.includes(engine)) continue;
    it(title, async () => {
      const testDatabase = await createTestDatabase(engine);
      const { DEMO: _, ...env } = testDatabase.env;
      const server = await serve({ ...env, ...settings });
      await stopAndAssertDemo(server, written);
      await testDatabase.remove();
      assert.equal(server.stdout().includes('/docs'), !('NODE_ENV' in settings));
    });
  }
});

/** The demo accounts exist and are printed, or neither; then a line says how to add a user. */
async function stopAndAssertDemo(server: Serving, exists: boolean): Promise<void> {
  assert.equal((await signIn(server, AURORA)).status, exists ? 200 : 401);
  await server.stop();
  assert.equal(server.stdout().includes(AURORA.password), exists);
  assert.equal(/no users yet.* user add --merchant 1/.test(server.stdout()), !exists);
}
