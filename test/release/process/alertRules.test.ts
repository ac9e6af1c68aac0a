import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { findOrInstall } from '../../../scripts/services.ts';
import { root } from '../../support/process.ts';

const promtool = findOrInstall('promtool', 'prometheus');

it('the alert rules are valid, and each fires for its fault and is silent without it', {
  skip: promtool || process.env.CI ? false : 'needs promtool',
}, () => {
  const cwd = join(root, 'deploy', 'prometheus');
  const read = (file: string) => readFileSync(join(cwd, file), 'utf8');
  for (const args of [
    ['check', 'rules', 'deskbell.rules.yml'],
    ['test', 'rules', 'deskbell.rules.test.yml'],
  ])
    execFileSync(promtool!, args, { cwd, stdio: 'pipe' });
  const [, ...rules] = read('deskbell.rules.yml').split('- alert: ');
  assert.ok(rules.length > 10);
  for (const rule of rules) {
    for (const expected of ['fires', 'is silent'])
      assert.ok(
        read('deskbell.rules.test.yml').includes(`name: ${rule.split('\n', 1)[0]} ${expected}`),
        rule,
      );
    // What has happened, and what to do.
    for (const part of [/severity: (critical|warning)/, /summary: ".{20,}"/, /description: ".{80,}"/])
      assert.match(rule, part);
  }
});
