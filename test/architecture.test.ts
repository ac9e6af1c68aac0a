import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { readConfig } from '../src/config.ts';
import { forEngine } from '../src/database/upgrade/files.ts';
import { DESCRIPTORS } from '../src/delivery/channels/descriptors.ts';
import { newSecretKey } from '../src/secrets.ts';
import { root } from './process.ts';
import { TABLES } from './tables.ts';

/**
 * Which part may import which. A part is a folder or a single file. It may import itself and the paths that start with
 * one of these. Add a new part here.
 */
const PORT = 'database/database.ts';
const FEATURE_IMPORTS = [
  'contract/',
  'errors.ts',
  'tracing.ts',
  PORT,
  'database/chain.ts',
  'database/deadline.ts',
  'database/expiry.ts',
  'database/ids.ts',
  'database/lookup.ts',
  'database/sendingHold.ts',
  'database/text.ts',
  'database/batchPerTick.ts',
  'http/',
];
const HTTP_IMPORTS = [
  ...['contract/', 'errors.ts', PORT, 'database/deadline.ts'],
  ...['installation.ts', 'metrics.ts', 'tracing.ts', 'version.ts'],
];
const EVERYTHING = [''];
const MAY_IMPORT: Record<string, readonly string[]> = {
  'serve.ts': EVERYTHING,
  'figures.ts': EVERYTHING,
  'observe.ts': EVERYTHING,
  'background.ts': EVERYTHING,
  'cleanUp.ts': EVERYTHING,
  'reseal.ts': EVERYTHING,
  'server.ts': EVERYTHING,
  cli: EVERYTHING,
  'app.ts': [
    ...[
      'audit/',
      'auth/',
      'merchants/',
      'notifications/',
      'conversations/',
      'knowledge/',
      'delivery/',
      'live/',
      'mcp/',
      'webhooks/',
      'alerts/',
    ],
    ...['erasure/', 'export/', 'exportSections.ts'],
    ...['assistant/', 'contract/', 'http/', 'errors.ts', PORT, 'config.ts', 'log.ts', 'metrics.ts'],
    ...['secrets.ts', 'figures.ts', 'tracing.ts'],
  ],
  auth: [...FEATURE_IMPORTS, 'audit/record.ts', 'installation.ts', 'mail/queue.ts', 'secrets.ts'],
  // Other features enqueue mails, so this one imports none of them.
  mail: [...FEATURE_IMPORTS, 'secrets.ts'],
  // Every feature records its events, so this one imports no other.
  audit: FEATURE_IMPORTS,
  // An answer enqueues its message and updates the knowledge base; neither of them imports notifications.
  notifications: [
    ...FEATURE_IMPORTS,
    'audit/record.ts',
    'auth/columns.ts',
    'auth/guard.ts',
    'auth/people.ts',
    ...[
      'conversations/columns.ts',
      'conversations/quote.ts',
      'conversations/rules.ts',
      'conversations/store.ts',
      'conversations/wire.ts',
      'conversations/wrongPhones.ts',
    ],
    'delivery/attention.ts',
    'delivery/phone.ts',
    'delivery/queue/attention.ts',
    'delivery/queue/control/',
    'delivery/queue/deliveries.ts',
    'delivery/queue/enqueue.ts',
    'delivery/requests.ts',
    'events/record.ts',
    'knowledge/confidence/',
    'knowledge/find.ts',
    'knowledge/learn.ts',
    'knowledge/ranking/',
    'knowledge/suggestions.ts',
    'knowledge/taught.ts',
    'knowledge/teach.ts',
    'knowledge/search/words.ts',
    'live/wait.ts',
    'merchants/storage.ts',
    'merchants/store.ts',
  ],
  knowledge: [
    ...FEATURE_IMPORTS,
    ...['audit/record.ts', 'auth/columns.ts', 'auth/guard.ts', 'events/record.ts', 'merchants/storage.ts'],
    ...['merchants/store.ts', 'files/'],
  ],
  // A merchant's own channel is encrypted; a webhook request contains our version.
  delivery: [
    ...FEATURE_IMPORTS,
    ...['audit/record.ts', 'auth/guard.ts', 'events/record.ts', 'secrets.ts', 'version.ts'],
  ],
  conversations: [
    ...FEATURE_IMPORTS,
    ...['auth/columns.ts', 'auth/guard.ts', 'delivery/phone.ts', 'delivery/channels/windows.ts'],
    'delivery/attention.ts',
    ...['delivery/queue/control/', 'delivery/queue/deliveries.ts', 'delivery/queue/enqueue.ts'],
    'events/record.ts',
    ...['merchants/storage.ts', 'merchants/store.ts'],
  ],
  // Every feature logs its events, so this one imports no other.
  events: FEATURE_IMPORTS,
  // Reads the records of CSV and JSON Lines files.
  files: [],
  live: [...FEATURE_IMPORTS, 'auth/guard.ts', 'auth/recheck.ts', 'auth/tokens.ts', 'events/log.ts'],
  // Endpoints use the queue and the worker of delivery, which gets them as functions.
  webhooks: [
    ...FEATURE_IMPORTS,
    ...['audit/record.ts', 'auth/guard.ts', 'delivery/', 'events/log.ts', 'secrets.ts'],
  ],
  // Alerts use the queue and the worker of delivery, too.
  alerts: [
    ...FEATURE_IMPORTS,
    ...['auth/columns.ts', 'auth/guard.ts', 'auth/people.ts', 'delivery/', 'events/log.ts', 'secrets.ts'],
    ...['notifications/brief.ts', 'notifications/team/store.ts'],
  ],
  'endpointChannels.ts': [
    'contract/ids.ts',
    'mail/queue.ts',
    'alerts/',
    'config.ts',
    PORT,
    'delivery/',
    'secrets.ts',
    'webhooks/',
    'merchants/store.ts',
  ],
  // It replaces a merchant's own assistant, which can use only the API, so it gets functions instead of imports.
  assistant: ['contract/'],
  // Its tools call the API, like any other program.
  mcp: ['auth/guard.ts', 'contract/', 'database/deadline.ts', 'errors.ts', 'version.ts'],
  merchants: [...FEATURE_IMPORTS, 'audit/record.ts', 'auth/guard.ts', 'delivery/phone.ts'],
  'demo.ts': [
    ...['audit/record.ts', 'auth/', 'notifications/', 'knowledge/demo.ts', 'knowledge/suggestions.ts'],
    ...['contract/', PORT, 'database/chain.ts', 'demo/'],
  ],
  demo: ['contract/', PORT],
  http: HTTP_IMPORTS,
  database: ['contract/ids.ts', 'installation.ts', 'version.ts'],
  'config.ts': [
    'config/',
    'delivery/channels/descriptors.ts',
    'delivery/phone.ts',
    'http/address.ts',
    'installation.ts',
  ],
  // The settings of the channels, and the countries of phone numbers.
  config: [
    'secrets.ts',
    'database/address.ts',
    'delivery/channels/descriptors.ts',
    'delivery/channels/fields.ts',
    'delivery/phone.ts',
    'http/address.ts',
    'installation.ts',
  ],
  'log.ts': ['config.ts', 'tracing.ts'],
  'tracing.ts': [],
  // Loaded only with OTEL_ settings.
  telemetry: [
    ...['config/telemetry.ts', 'database/chain.ts', PORT, 'log.ts', 'metrics.ts', 'tracing.ts', 'version.ts'],
  ],
  'processOutput.ts': ['config.ts'],
  'listenError.ts': ['config.ts'],
  contract: [],
  'errors.ts': [],
  'installation.ts': [],
  'metrics.ts': [],
  'secrets.ts': [],
  'startProblem.ts': ['config.ts', PORT, 'secrets.ts'],
  'storage.ts': [
    'config.ts',
    'conversations/store.ts',
    'knowledge/versions.ts',
    'merchants/storage.ts',
    'notifications/inboxes.ts',
  ],
  // What becomes of a forgotten password is the business of auth, and mails are in the language of the merchant.
  'mailSender.ts': [
    'auth/passwords/reset.ts',
    'config.ts',
    PORT,
    'mail/',
    'merchants/store.ts',
    'secrets.ts',
  ],
  // It removes from every feature's tables what that feature says.
  erasure: [
    ...FEATURE_IMPORTS,
    ...['alerts/erase.ts', 'audit/record.ts', 'audit/store.ts', 'auth/erase.ts', 'auth/guard.ts'],
    ...['conversations/erase.ts', 'conversations/messages.ts', 'conversations/store.ts', 'delivery/erase.ts'],
    ...['delivery/phone.ts', 'events/erase.ts', 'events/log.ts', 'knowledge/erase.ts', 'merchants/delete.ts'],
    ...['merchants/store.ts', 'notifications/erase.ts'],
  ],
  // It gets what to export as functions.
  export: [...FEATURE_IMPORTS, 'audit/record.ts', 'auth/guard.ts'],
  'exportSections.ts': [
    ...['audit/export.ts', 'auth/machineKeys/export.ts', 'auth/sessions/export.ts', 'auth/team/members.ts'],
    ...['conversations/export.ts', 'delivery/export.ts', 'export/'],
    ...['knowledge/export.ts', 'merchants/store.ts', 'notifications/export.ts'],
  ],
  'version.ts': ['installation.ts'],
};

const source = join(root, 'src');
const files = globSync('**/*.ts', { cwd: source }).filter((file) => !file.endsWith('.test.ts'));
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');

/** Static and dynamic imports, of values and of types. */
const importsOf = (file: string) =>
  [...read('src', file).matchAll(/\b(?:from|import)\b\s*\(?\s*'([\w@.][^'\s]*)'/g)].map(([, path]) => path!);

const partOf = (file: string) => (file in MAY_IMPORT ? file : file.split('/')[0]!);

/** Files that use another feature's tables, with the reason. */
const FOREIGN_TABLES: Record<string, readonly string[]> = {
  // It fills an empty database.
  'demo.ts': ['conversations', 'merchants', 'notifications', 'simulator_messages', 'users'],
  'demo/insertTalk.ts': [
    ...['conversation_messages', 'conversations', 'deliveries', 'delivery_events', 'simulator_messages'],
  ],
  // A copy builds the full-text indexes of the embedded database, and reads one of them.
  'database/copy/sqliteStore.ts': ['answered_questions', 'documents', 'inbox_index', 'notifications'],
  // Log lines mention them.
  'cleanUp.ts': ['deliveries', 'recognitions', 'send_pace'],
  // The doctor compares the clock with the newest time of any feature.
  'database/vitals.ts': ['idempotency_keys', 'sessions', 'sign_in_failures', 'signing_keys'],
  // The name of somebody who has left is replaced wherever it was copied.
  'erasure/colleague.ts': ['asks', 'conversations', 'deliveries', 'events'],
  // Nothing is sent for a merchant that is being deleted.
  'delivery/queue/claim.ts': ['merchants'],
  // Nothing is sent to a customer who is being erased.
  'delivery/queue/table.ts': ['conversations'],
  // An event has the reference and the metadata of its ask.
  'events/log.ts': ['asks'],
  // The user's name at that time.
  'audit/record.ts': ['users'],
  'knowledge/documents/createSteps.ts': ['users'],
  'knowledge/documents/versions.ts': ['users'],
  'knowledge/suggestions.ts': ['notifications'],
  // What the demo's assistants answered before the demo began.
  'knowledge/demo.ts': ['statistics_days'],
};

/** The tables in a file's SQL, or in its calls to a function that builds SQL. */
function tablesIn(file: string): string[] {
  const text = read('src', file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const named = text.matchAll(
    /(?:\b(?:from|join|into|update|table|exists)\s+|\btable: '|\binsert\(')([a-z]+(?:_[a-z]+)*)\b/gi,
  );
  const known = Object.values(TABLES).flat();
  return [...new Set([...named].map(([, name]) => name!))].filter((name) => known.includes(name)).sort();
}

describe('the source', () => {
  it('has exactly the parts that this test lists', () => {
    assert.deepEqual([...new Set(files.map(partOf))].sort(), Object.keys(MAY_IMPORT).sort());
  });

  for (const [part, allowed] of Object.entries(MAY_IMPORT)) {
    if (allowed === EVERYTHING) continue;
    it(`${part} imports ${allowed.length === 0 ? 'none of our files' : `no more than ${allowed.join(', ')}`}`, () => {
      for (const file of files.filter((one) => partOf(one) === part)) {
        for (const path of importsOf(file).filter((one) => one.startsWith('.'))) {
          const target = normalize(join(dirname(file), path));
          const isAllowed =
            partOf(target) === part || allowed.some((beginning) => target.startsWith(beginning));
          assert.ok(isAllowed, `${file} imports ${target}`);
        }
      }
    });
  }

  it('loads the library of MCP only when an assistant uses it, and OpenTelemetry only if it is set up', () => {
    const loaded = new Set(['serve.ts']);
    for (const file of loaded) {
      const imports = read('src', file).matchAll(/^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';/gm);
      for (const [, path] of imports) {
        assert.doesNotMatch(path!, /modelcontextprotocol|^\.\.?\/telemetry\//, file);
        if (path!.startsWith('.')) loaded.add(normalize(join(dirname(file), path!)));
      }
    }
    assert.ok(loaded.has('mcp/routes.ts') && loaded.has('observe.ts'));
  });

  it('has no cycles between its parts', () => {
    const imports = new Map<string, Set<string>>();
    for (const file of files) {
      const from = file.split('/')[0]!;
      for (const path of importsOf(file).filter((one) => one.startsWith('.'))) {
        const to = normalize(join(dirname(file), path)).split('/')[0]!;
        if (to !== from) imports.set(from, (imports.get(from) ?? new Set()).add(to));
      }
    }
    const done = new Set<string>();
    const visit = (part: string, path: readonly string[]) => {
      assert.ok(!path.includes(part), `${path.slice(path.indexOf(part)).join(' -> ')} -> ${part}`);
      if (done.has(part)) return;
      for (const next of imports.get(part) ?? []) visit(next, [...path, part]);
      done.add(part);
    };
    assert.ok(imports.size > 10);
    for (const part of imports.keys()) visit(part, []);
  });

  for (const file of files.filter((one) => tablesIn(one).length > 0)) {
    it(`${file} uses only the tables of its own feature`, () => {
      const own = TABLES[file.split('/')[0]!] ?? [];
      const foreign = tablesIn(file).filter((table) => !own.includes(table));
      assert.deepEqual(foreign, FOREIGN_TABLES[file] ?? []);
    });
  }

  it('has an owner for every table that the migrations create', () => {
    const created = readdirSync(join(root, 'migrations')).flatMap((name) =>
      [...read('migrations', name).matchAll(/^create table (\w+)/gm)].map(([, table]) => table!),
    );
    const owned = Object.values(TABLES).flat();
    // A table that is rebuilt has another name while its rows are copied.
    for (const table of new Set(created.filter((name) => !name.endsWith('_rebuilt'))))
      assert.ok(owned.includes(table), `${table} has no owner`);
    for (const file of Object.keys(FOREIGN_TABLES)) assert.ok(files.includes(file), `${file} does not exist`);
  });

  it('imports only its own files, Node and the production dependencies of package.json', () => {
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

  it('reads the environment only in config.ts', () => {
    const readers = files.filter((file) =>
      /process\.(env|loadEnvFile)|\[['"]env['"]\]/.test(read('src', file)),
    );
    assert.deepEqual(readers, ['config.ts']);
  });
});

describe('the migrations', () => {
  const names = readdirSync(join(root, 'migrations')).sort();

  it('are numbered without gaps', () => {
    assert.ok(names.length > 0);
    for (const [index, name] of names.entries()) {
      assert.match(name, new RegExp(`^${String(index + 1).padStart(4, '0')}_[a-z\\d_]+\\.sql$`));
    }
  });

  for (const name of names) {
    it(`${name} has complete statements for each engine, and does not begin or end a transaction`, () => {
      const text = read('migrations', name);
      const markers = [...text.matchAll(/^\s*-- @(.*)$/gm)].map(([, marker]) => marker!.trim());
      const sections = markers.filter((marker) => ['sqlite', 'postgres', 'both'].includes(marker));
      assert.equal(sections.at(-1) ?? 'both', 'both', 'the rest of the file would be for one engine only');
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
