import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  BUNDLED,
  billOfMaterials,
  isAllowed,
  LICENCE_FILE,
  licenceList,
  shippedPackages,
} from '../../scripts/supply-chain.ts';
import { root } from '../support/process.ts';

describe('the packages that we ship', () => {
  const shipped = shippedPackages();
  const names = new Set(shipped.map(({ name }) => name));

  it('have a licence that we allow, and the list of them is current', () => {
    assert.ok(shipped.length > 100);
    for (const name of ['fastify', 'react', 'pg-protocol']) assert.ok(names.has(name), name);
    for (const name of ['vite', 'typescript', '@biomejs/biome']) assert.ok(!names.has(name), name);
    const hint = 'run "npm run sbom" and commit THIRD_PARTY_LICENCES.md';
    assert.equal(readFileSync(LICENCE_FILE, 'utf8'), licenceList(shipped), hint);
    assert.deepEqual(
      shipped.filter(({ licence }) => !isAllowed(licence)),
      [],
    );
  });

  it('include everything that the dashboard imports', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const known = new Set<string>([...BUNDLED, ...Object.keys(dependencies)]);
    for (const file of globSync('dashboard/src/**/*.{ts,tsx}', { cwd: root })) {
      const text = readFileSync(join(root, file), 'utf8');
      for (const [, path] of text.matchAll(/\b(?:from|import)\b\s*\(?\s*'([@\w][^'\s]*)'/g)) {
        const name = path!
          .split('/')
          .slice(0, path!.startsWith('@') ? 2 : 1)
          .join('/');
        assert.ok(known.has(name), `${file} imports ${name}: add it to BUNDLED in scripts/supply-chain.ts`);
      }
    }
  });

  it('are the components of the bill of materials', () => {
    const { components, dependencies } = billOfMaterials(shipped);
    const idOf = ({ name, version }: { name: string; version: string }) => `${name}@${version}`;
    assert.deepEqual(components.map(idOf).sort(), shipped.map(idOf).sort());
    assert.equal(dependencies.length, components.length + 1);
  });
});

it('a licence with a choice is allowed if one is, and one with several parts if all are', () => {
  const allowed = ['MIT', '(MIT OR GPL-3.0-only)', 'MIT AND ISC'];
  const refused = ['MIT AND GPL-3.0-only', 'AGPL-3.0-only', 'unknown'];
  assert.deepEqual([...allowed, ...refused].filter(isAllowed), allowed);
});
