import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { DESCRIPTORS } from '../../src/delivery/channels/descriptors.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { root } from '../support/process.ts';

const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');

describe('the settings', () => {
  const config = read('src', 'config.ts');
  const keys = [...config.matchAll(/\b(?:text|integer|flag|choice|address)\(\s*'([A-Z][A-Z\d_]*)'/g)]
    .map(([, key]) => key!)
    .concat(DESCRIPTORS.flatMap(({ fields }) => fields.map(({ variable }) => variable)))
    .sort();
  const documented = [...read('docs', 'settings.md').matchAll(/^\| `([A-Z\d_]+)` \| ([^|]*) \|/gm)];
  const examples = [...read('.env.example').matchAll(/^#?([A-Z\d_]+)=(.*)$/gm)];

  it('are each read in one place', () => {
    assert.ok(keys.length > 10);
    assert.equal(new Set(keys).size, keys.length);
    // npm sets INIT_CWD: the folder that npm was called in.
    assert.deepEqual(
      [...config.matchAll(/env\.([A-Z_]+)/g)].map(([, key]) => key),
      ['INIT_CWD'],
    );
  });

  it('are exactly those of docs/settings.md', () => {
    assert.deepEqual(documented.map(([, key]) => key).sort(), keys);
  });

  it('are exactly those of .env.example, and each of its lines is valid', () => {
    assert.deepEqual(examples.map(([, key]) => key).sort(), keys);
    for (const [, key, value] of examples) readConfig({ SECRET_KEY: newSecretKey(), [key!]: value });
  });

  it('have the defaults that docs/settings.md lists', () => {
    const defaults = documented.flatMap(([, key, cell]) => {
      const value = /^`([^`]+)`$/.exec(cell!.trim())?.[1];
      return value === undefined ? [] : [{ [key!]: value }];
    });
    assert.ok(defaults.length > 5);
    for (const one of defaults) assert.deepEqual(readConfig(one), readConfig({}), JSON.stringify(one));
  });
});
