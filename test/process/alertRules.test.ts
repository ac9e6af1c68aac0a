import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findOrInstall } from '../../scripts/services.ts';
import { root } from '../support/process.ts';
import { namesIn } from '../support/scrape.ts';
import { useDeskbell } from '../support/server.ts';

const FOLDER = join(root, 'deploy', 'prometheus');
const rules = readFileSync(join(FOLDER, 'deskbell.rules.yml'), 'utf8');
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

const promtool = findOrInstall('promtool', 'prometheus');
const needsPromtool = { skip: promtool || process.env.CI ? false : 'needs promtool' };

describe('the alert rules', () => {
  it('are valid, and each fires for its fault and is silent without it', needsPromtool, () => {
    assert.ok(alerts.length > 10);
    execFileSync(promtool!, ['check', 'rules', 'deskbell.rules.yml'], { cwd: FOLDER, stdio: 'pipe' });
    execFileSync(promtool!, ['test', 'rules', 'deskbell.rules.test.yml'], { cwd: FOLDER, stdio: 'pipe' });
    const tests = readFileSync(join(FOLDER, 'deskbell.rules.test.yml'), 'utf8');
    for (const alert of alerts) {
      for (const expected of ['fires', 'is silent']) assert.ok(tests.includes(`name: ${alert} ${expected}`));
    }
  });

  it('say what has happened and what to do', () => {
    for (const rule of rules.split('- alert: ').slice(1)) {
      assert.match(rule, /severity: (critical|warning)/);
      assert.match(rule, /summary: ".{20,}"/);
      assert.match(rule, /description: ".{80,}"/);
    }
  });

  it('are all in the docs', () => {
    const docs = readFileSync(join(root, 'docs', 'monitoring.md'), 'utf8');
    const listed = [...docs.matchAll(/^\| `(Deskbell\w+)`/gm)].map(([, name]) => name!);
    assert.deepEqual(listed, alerts);
  });
});

describe('every metric', () => {
  const deskbell = useDeskbell('sqlite');
  const used = (text: string) => new Set(text.match(/\b(deskbell|process|nodejs)_\w+/g));
  const dashboard = JSON.parse(readFileSync(join(root, 'deploy', 'grafana', 'deskbell.json'), 'utf8')) as {
    panels: { targets?: { expr: string }[] }[];
  };
  const panels = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n');
  const expressions = [...rules.matchAll(/expr: (.+)/g)].map(([, expr]) => expr!).join('\n');

  it('of the dashboard and of the rules exists', async () => {
    const names = namesIn((await deskbell.call('GET', '/metrics')).text);
    assert.ok(names.length > 20);
    for (const name of [...used(panels), ...used(expressions)]) {
      assert.ok(names.includes(name.replace(/_bucket$/, '')), name);
    }
  });

  it('of ours is on the dashboard', async () => {
    const names = namesIn((await deskbell.call('GET', '/metrics')).text);
    const shown = [...used(panels)].map((name) => name.replace(/_bucket$/, ''));
    for (const name of names.filter((one) => one.startsWith('deskbell_'))) {
      assert.ok(shown.includes(name), name);
    }
  });
});
