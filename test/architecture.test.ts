import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { readConfig } from '../src/config.ts';
import { forEngine } from '../src/database/migrate.ts';
import { DESCRIPTORS } from '../src/delivery/channels/descriptors.ts';
import { newSecretKey } from '../src/secrets.ts';
import { root } from './process.ts';

/**
 * Who may import whom. A part is a folder or a single file; it may import itself and what stands here, by the
 * beginning of its path. Whoever adds a part decides it here.
 */
const PORT = 'database/database.ts';
// What every text column can hold is said beside the port.
const OF_A_FEATURE = [
  'contract/',
  'errors.ts',
  PORT,
  'database/chain.ts',
  'database/ids.ts',
  'database/lookup.ts',
  'database/text.ts',
  'database/batchPerTick.ts',
  'http/',
];
const OF_HTTP = ['contract/', 'errors.ts', PORT, 'metrics.ts', 'version.ts'];
const EVERYTHING = [''];
const MAY_IMPORT: Record<string, readonly string[]> = {
  'main.ts': EVERYTHING,
  'server.ts': EVERYTHING,
  cli: EVERYTHING,
  'app.ts': [
    ...['auth/', 'notifications/', 'conversations/', 'knowledge/', 'delivery/', 'live/'],
    ...['assistant/', 'contract/', 'http/', 'errors.ts', PORT, 'config.ts', 'log.ts', 'metrics.ts'],
  ],
  auth: [...OF_A_FEATURE, 'secrets.ts'],
  // An answer puts its message into the outbox and its lesson into the knowledge base; neither knows of it.
  notifications: [
    ...OF_A_FEATURE,
    'auth/guard.ts',
    'delivery/queue/enqueue.ts',
    'knowledge/learn.ts',
    'knowledge/suggestions.ts',
  ],
  knowledge: [...OF_A_FEATURE, 'auth/guard.ts'],
  // A merchant's own channel is sealed; a webhook request names our version.
  delivery: [...OF_A_FEATURE, 'auth/guard.ts', 'secrets.ts', 'version.ts'],
  conversations: [...OF_A_FEATURE, 'auth/guard.ts', 'delivery/phone.ts'],
  live: [...OF_A_FEATURE, 'auth/guard.ts'],
  // It stands for a merchant's own, which has no more than the API: whatever it does is handed to it.
  assistant: ['contract/'],
  merchants: OF_A_FEATURE,
  'demo.ts': ['auth/', 'notifications/', 'knowledge/demo.ts', 'knowledge/suggestions.ts', 'contract/', PORT],
  http: OF_HTTP,
  // The queue's figures stand among the metrics.
  'http/operations.ts': [...OF_HTTP, 'http/', 'delivery/queue/deliveries.ts'],
  database: ['config.ts', 'contract/ids.ts'],
  // The channels' descriptors list their settings; the countries of phone numbers; an address may name several hosts.
  'config.ts': [
    'secrets.ts',
    'delivery/channels/descriptors.ts',
    'delivery/channels/fields.ts',
    'delivery/phone.ts',
    'database/address.ts',
  ],
  'log.ts': ['config.ts'],
  contract: [],
  'errors.ts': [],
  'metrics.ts': [],
  'secrets.ts': [],
  'version.ts': [],
};

const source = join(root, 'src');
const files = globSync('**/*.ts', { cwd: source }).filter((file) => !file.endsWith('.test.ts'));
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');

/** Static, dynamic, and for the sake of a type alike. */
const importsOf = (file: string) =>
  [...read('src', file).matchAll(/\b(?:from|import)\b\s*\(?\s*'([\w@.][^'\s]*)'/g)].map(([, path]) => path!);

const partOf = (file: string) => (file in MAY_IMPORT ? file : file.split('/')[0]!);

describe('the source', () => {
  it('has no part that nobody has decided about, and no decision about a part that is gone', () => {
    assert.deepEqual([...new Set(files.map(partOf))].sort(), Object.keys(MAY_IMPORT).sort());
  });

  for (const [part, allowed] of Object.entries(MAY_IMPORT)) {
    if (allowed === EVERYTHING) continue;
    it(`${part} imports ${allowed.length === 0 ? 'nothing of ours' : `no more than ${allowed.join(', ')}`}`, () => {
      for (const file of files.filter((one) => partOf(one) === part)) {
        for (const path of importsOf(file).filter((one) => one.startsWith('.'))) {
          const target = normalize(join(dirname(file), path));
          const fits = partOf(target) === part || allowed.some((beginning) => target.startsWith(beginning));
          assert.ok(fits, `${file} imports ${target}`);
        }
      }
    });
  }

  it('imports from outside what package.json names for the running service, or Node itself', () => {
    const { dependencies } = JSON.parse(read('package.json'));
    for (const file of files) {
      for (const path of importsOf(file).filter((one) => !/^(\.|node:)/.test(one))) {
        const name = path
          .split('/')
          .slice(0, path.startsWith('@') ? 2 : 1)
          .join('/');
        assert.ok(name in dependencies, `${file} imports ${path}`);
      }
    }
  });

  it('reads the environment in config.ts alone', () => {
    const readers = files.filter((file) =>
      /process\.(env|loadEnvFile)|\[['"]env['"]\]/.test(read('src', file)),
    );
    assert.deepEqual(readers, ['config.ts']);
  });
});

describe('the migrations', () => {
  const names = readdirSync(join(root, 'migrations')).sort();

  it('are numbered one by one', () => {
    assert.ok(names.length > 0);
    for (const [index, name] of names.entries()) {
      assert.match(name, new RegExp(`^${String(index + 1).padStart(4, '0')}_[a-z\\d_]+\\.sql$`));
    }
  });

  for (const name of names) {
    it(`${name} is whole statements for each engine, and leaves the transaction to its caller`, () => {
      const text = read('migrations', name);
      const markers = [...text.matchAll(/^\s*-- @(.*)$/gm)].map(([, marker]) => marker!.trim());
      for (const marker of markers) assert.ok(['sqlite', 'postgres', 'both'].includes(marker), marker);
      assert.equal(markers.at(-1) ?? 'both', 'both', 'what follows would be for one engine');
      for (const engine of ['sqlite', 'postgres'] as const) {
        const sql = forEngine(text, engine).replace(/--.*$/gm, '').trim();
        assert.match(sql, /^$|;$/);
        assert.doesNotMatch(sql, /^\s*(begin|commit|rollback|end transaction)\s*;/im);
      }
    });
  }
});

describe('the settings', () => {
  const config = read('src', 'config.ts');
  const keys = [...config.matchAll(/\b(?:text|integer|flag|choice|address)\('([A-Z][A-Z\d_]*)'/g)]
    .map(([, key]) => key!)
    .concat(DESCRIPTORS.flatMap(({ fields }) => fields.map(({ variable }) => variable)))
    .sort();
  const documented = [...read('docs', 'settings.md').matchAll(/^\| `([A-Z\d_]+)` \| ([^|]*) \|/gm)];
  const examples = [...read('.env.example').matchAll(/^#?([A-Z\d_]+)=(.*)$/gm)];

  it('are read by name in one place each', () => {
    assert.ok(keys.length > 10);
    assert.equal(new Set(keys).size, keys.length);
    // INIT_CWD is npm's own: where the person stands who called it.
    assert.deepEqual(
      [...config.matchAll(/env\.([A-Z_]+)/g)].map(([, key]) => key),
      ['INIT_CWD'],
    );
  });

  it('are exactly those of docs/settings.md', () => {
    assert.deepEqual(documented.map(([, key]) => key).sort(), keys);
  });

  it('are exactly those of .env.example, and each line of it is fit to be used', () => {
    assert.deepEqual(examples.map(([, key]) => key).sort(), keys);
    for (const [, key, value] of examples) readConfig({ SECRET_KEY: newSecretKey(), [key!]: value });
  });

  it('have the defaults that docs/settings.md names', () => {
    const defaults = documented.flatMap(([, key, cell]) => {
      const value = /^`([^`]+)`$/.exec(cell!.trim())?.[1];
      return value === undefined ? [] : [{ [key!]: value }];
    });
    assert.ok(defaults.length > 5);
    for (const one of defaults) assert.deepEqual(readConfig(one), readConfig({}), JSON.stringify(one));
  });
});
