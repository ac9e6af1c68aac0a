import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { install } from '../../bench/peers/install.ts';
import { root } from '../support/process.ts';

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
