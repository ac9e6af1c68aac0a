import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { install } from '../../bench/peers/install.ts';
import { root } from '../support/process.ts';
import type { RecordedCall } from '../support/recordCall.ts';

const folder = join(root, 'test/release/openapi-tools');
const DOCUMENT = '../../../openapi.json';

/** Returns the exit code and what the program printed. */
const run = (program: string, args: string[]): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    execFile(program, args, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), text: stdout + stderr }),
    );
  });

describe('the OpenAPI document, checked by other programs', () => {
  before(() => install(folder));

  it('follows the recommended rules of Redocly, except for the slashes of the contract', async () => {
    const { code, text } = await run('node_modules/.bin/redocly', [
      ...['lint', '--config', 'redocly.yaml', '--format', 'json', DOCUMENT],
    ]);
    assert.equal(code, 0, text);
    assert.match(text, /"totals": \{\s*"errors": 0,\s*"warnings": 0/);
  });

  it('follows the rules of Spectral, except for the slashes of the contract', async () => {
    const args = ['lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'warn', DOCUMENT];
    const { code, text } = await run('node_modules/.bin/spectral', args);
    assert.equal(code, 0, text);
    assert.match(text, /No results/);
  });
});

describe('the check of recorded calls', () => {
  const calls = mkdtempSync(join(tmpdir(), 'deskbell-calls-'));
  before(() => install(folder));
  after(() => rmSync(calls, { recursive: true }));

  const login: Omit<RecordedCall, 'headers'> & { headers: object } = {
    method: 'POST',
    path: '/api/v1/auth/login',
    requestHeaders: { 'content-type': 'application/json' },
    requestBody: '{"email":"owner@aurora.example","password":"aurora-demo"}',
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: '{"access_token":"a","refresh_token":"b","token_type":"bearer","expires_in":900}',
  };
  const deletion = {
    ...login,
    method: 'DELETE',
    path: '/api/v1/notification/1',
    requestHeaders: { authorization: 'Bearer x' },
    requestBody: undefined,
    body: '{"message":"Notification deleted."}',
  };

  async function validate(...recorded: object[]) {
    writeFileSync(join(calls, '1.jsonl'), recorded.map((call) => `${JSON.stringify(call)}\n`).join(''));
    return run(process.execPath, ['validate.mjs', calls]);
  }

  it('accepts calls that match the document', async () => {
    const { code, text } = await validate(login, deletion, { ...login, path: '/not/documented' });
    assert.match(text, /^2 kinds of 3 calls checked, 0 kinds/);
    assert.equal(code, 0);
  });

  it('reports a wrong body, an unknown status, an accepted wrong request and a message that is no example', async () => {
    const { code, text } = await validate(
      { ...login, body: login.body.replace('900', 'null') },
      { ...login, status: 418 },
      { ...login, requestBody: '{"email":"owner@aurora.example"}' },
      { ...login, requestBody: '{}', status: 422, body: '{"detail":"No.","code":"VALIDATION_ERROR"}' },
      { ...deletion, requestHeaders: {} },
      { ...deletion, body: '{"message":"Notification answered."}' },
    );
    assert.equal(code, 1);
    assert.match(text, /login 200: .*expires_in must be integer/);
    assert.match(text, /login 418: Unable to match the returned status code/);
    assert.match(text, /login 200: Request body must have required property 'password'/);
    assert.match(text, /notification\/N 200: Invalid security scheme used/);
    assert.match(text, /notification\/N 200: the document has no example with "Notification answered\."/);
    assert.match(text, /6 kinds of 6 calls checked, 5 kinds/);
  });
});
