import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { newFolder, type Serving, serve } from '../support/process.ts';
import { AURORA, BOREALIS, call, NOTIFICATIONS, OPERATOR, QUESTION } from '../support/server.ts';

const signIn = ({ url }: Serving, { email, password }: typeof AURORA) =>
  call(url, 'POST', '/api/v1/auth/login', { body: { email, password } });

describe('the first start, with only a folder and a port set', () => {
  const folder = newFolder();
  let server: Serving;
  before(async () => {
    server = await serve({ DATA_DIR: folder });
    await server.waitForOutput(/curl .*\n/);
  });

  it('prints the URL of the API docs, the three demo sign-ins and a curl command, which all work', async () => {
    const [first] = /http\S+/.exec(server.stdout()) ?? [];
    assert.equal(first, `${server.url}/docs`);
    assert.equal((await call(server.url, 'GET', '/docs')).status, 200);
    const printed = [...server.stdout().matchAll(/^ +(\S+@\S+) +(\S+)/gm)];
    const users = printed.map(([, email = '', password = '']) => ({ email, password }));
    assert.deepEqual(users, [AURORA, BOREALIS, OPERATOR]);
    for (const user of users) assert.equal((await signIn(server, user)).status, 200);
    const [curl, ...others] = server.stdout().match(/^ *curl .*/gm)!;
    assert.deepEqual(others, []);
    const answer = JSON.parse(execFileSync('sh', ['-c', curl!], { encoding: 'utf8' }));
    assert.equal(answer.token_type, 'bearer');
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
});
