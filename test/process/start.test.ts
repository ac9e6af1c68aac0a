import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { newFolder, type Serving, serve } from '../support/process.ts';
import {
  AURORA,
  BOREALIS,
  call,
  NOTIFICATIONS,
  OPERATOR,
  QUESTION,
  startDeskbell,
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

  it('keeps ids, passwords and tokens for the next start, which reads .env and prefers the environment', async () => {
    const { access_token: token, refresh_token } = (await signIn(server, AURORA)).json;
    const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
    const list = await call(server.url, 'GET', `${NOTIFICATIONS}/`, { token });
    await server.stop();
    const workFolder = newFolder();
    writeFileSync(join(workFolder, '.env'), 'DEMO=false\nDATA_DIR=from-file\n');

    server = await serve({ DATA_DIR: folder }, undefined, workFolder);
    const again = await call(server.url, 'GET', `${NOTIFICATIONS}/`, { token });
    assert.equal(again.status, 200);
    assert.equal(again.text, list.text);
    assert.equal(raised.headers.get('location'), `${NOTIFICATIONS}/${again.json[0].id}`);
    assert.equal((await signIn(server, AURORA)).status, 200);
    const refreshed = await call(server.url, 'POST', '/api/v1/auth/refresh', { body: { refresh_token } });
    assert.equal(refreshed.status, 200);
    await server.stop();
    assert.deepEqual(readdirSync(workFolder), ['.env']);
    assert.ok(server.stdout().includes('/docs') && !server.stdout().includes(AURORA.password));
  });
});

describe('the demo', () => {
  const POSTGRES = { DATABASE_URL: 'postgres://one/deskbell', SECRET_KEY: newSecretKey() };

  it('is created only where nobody else can use its passwords, and not in PostgreSQL by default', () => {
    for (const [settings, isCreated] of [
      [{}, true],
      [{ HOST: 'localhost' }, true],
      [{ HOST: '0.0.0.0' }, false],
      [{ NODE_ENV: 'production' }, false],
      [POSTGRES, false],
      [{ ...POSTGRES, DEMO: 'true' }, true],
    ] as const)
      assert.equal(readConfig(settings).demo, isCreated, JSON.stringify(settings));
  });

  it('does not exist without that: a line says how to add a user', async () => {
    const deskbell = await startDeskbell('sqlite', { DEMO: 'false' });
    const { status } = await deskbell.call('POST', '/api/v1/auth/login', { body: AURORA });
    assert.equal(status, 401);
    assert.match(deskbell.logged.join(''), /no users yet.* user add --merchant 1/);
    await deskbell.close();
  });
});
