import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { root } from '../support/process.ts';

const SCRIPT_MAX_BYTES = 220_000;
const dist = `${root}/dashboard/dist`;
const built = existsSync(`${dist}/index.html`);

/** The scripts of the page, and all that they import before anything is shown. */
function firstScripts(): Set<string> {
  const page = readFileSync(`${dist}/index.html`, 'utf8');
  const wanted = [...page.matchAll(/(?:src|href)="\/assets\/([^"]+\.js)"/g)].map(([, name]) => name!);
  const found = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const script = readFileSync(`${dist}/assets/${name}`, 'utf8');
    // `import(…)` loads later, on demand.
    for (const [, imported] of script.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([^"']+\.js)["']/g))
      wanted.push(imported!);
  }
  return found;
}

describe('the built dashboard', { skip: built ? false : 'the dashboard is not built' }, () => {
  it(`needs at most ${SCRIPT_MAX_BYTES / 1000} KB of compressed script to start`, () => {
    const scripts = firstScripts();
    assert.ok(scripts.size > 1);
    let total = 0;
    for (const name of scripts) total += gzipSync(readFileSync(`${dist}/assets/${name}`)).length;
    assert.ok(total <= SCRIPT_MAX_BYTES, `${total} bytes in ${[...scripts].join(', ')}`);
  });

  it('has no schemas of the contract, which need a library', () => {
    assert.doesNotMatch(readFileSync(`${dist}/licences.md`, 'utf8'), /typebox/i);
  });

  it('loads the pages that few people open first only on demand', () => {
    const scripts = [...firstScripts()].join(' ');
    const all = globSync('*.js', { cwd: `${dist}/assets` }).join(' ');
    for (const name of ['KnowledgePage', 'OverviewPage', 'TestPhonePage', 'SettingsPage']) {
      assert.match(all, new RegExp(`\\b${name}-`));
      assert.doesNotMatch(scripts, new RegExp(`\\b${name}-`));
    }
  });
});
