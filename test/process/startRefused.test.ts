import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import pg from 'pg';
import { ConfigError, readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { openServer } from '../../src/server.ts';
import { startProblem } from '../../src/startProblem.ts';
import { createDemoDatabase, createTestDatabase, engines } from '../support/databases.ts';
import { newFolder, run, type Settings } from '../support/process.ts';
import { startDeskbell } from '../support/server.ts';
import { unlessLate } from '../support/unlessLate.ts';

/** One line on stderr and nothing else, exit code 1, and no secret anywhere. */
async function refuses(settings: Settings, line: RegExp): Promise<void> {
  const program = run({ PORT: '0', ...settings });
  const { code } = await program.ended;
  assertLine(program.stderr(), line);
  assert.equal(code, 1);
  assert.doesNotMatch(program.stdout(), /hunter2|^\s+at /m);
}

/**
 * The same without a process of its own, for everything that the server finds out after its ports: the program prints
 * this line to stderr and exits with 1, as the tests with a process show.
 */
async function refusesToOpen(settings: Settings, line: RegExp): Promise<void> {
  const logged: string[] = [];
  const log = createLogger({ logLevel: 'info', logPretty: false }, { write: (text) => logged.push(text) });
  const problemOf = () =>
    openServer(readConfig({ PORT: '0', ...settings }), log).then(
      async (server) => {
        await server.close();
        return assert.fail('the server has opened');
      },
      (refusal: unknown) => startProblem(refusal),
    );
  // Of several hosts, one that refuses connections is named if the other does not answer in time.
  const isLate = (text: string) =>
    !line.test(text) && /cannot be used: .*(timeout|nothing answers)/.test(text);
  assertLine(`${await unlessLate(problemOf, isLate)}\n`, line);
  assert.doesNotMatch(logged.join(''), /hunter2/);
}

function assertLine(text: string, line: RegExp): void {
  const said = text.split('\n').slice(0, -1);
  assert.equal(said.length, 1, text);
  assert.match(said[0]!, line);
  assert.doesNotMatch(text, /hunter2|^\s+at /m);
}

const SAME_KEY = newSecretKey();

const BAD_SETTINGS: Settings = {
  PORT: '70000',
  DATABASE_URL: 'mysql://root:hunter2@127.0.0.1/deskbell',
  DATABASE_POOL_SIZE: '0',
  DATABASE_PREPARED_STATEMENTS: 'perhaps',
  SECRET_KEY: 'short',
  DEMO: 'maybe',
  TRUST_PROXY: '10.0.0.999',
  PUBLIC_URL: 'https://shop.example/desk',
  EMBEDDINGS_URL: 'ftp://me:hunter2@models.example',
  EMBEDDINGS_TIMEOUT_MS: '5s',
  ALLOWED_HOSTS: 'https://shop.example',
  CORS_ORIGINS: 'shop.example',
  ACCESS_TOKEN_TTL_SECONDS: '1',
  REFRESH_TOKEN_TTL_SECONDS: 'a month',
  RATE_LIMIT_PER_MINUTE: '-1',
  REDIS_URL: 'http://:hunter2@127.0.0.1',
  DEFAULT_COUNTRY: 'Spain',
  NODE_ENV: 'prod',
  LOG_LEVEL: 'loud',
  LOG_PRETTY: 'very',
  UV_THREADPOOL_SIZE: '4.5',
};

describe('a bad setting', () => {
  for (const [key, value] of Object.entries(BAD_SETTINGS)) {
    it(`${key} is the only one reported`, () => {
      assert.throws(
        () => readConfig({ [key]: value }),
        (error) =>
          error instanceof ConfigError && error.problems.length === 1 && error.message.startsWith(`${key} `),
      );
    });
  }

  it('is reported together with all other bad ones, one line each', async () => {
    const expected = Object.keys(BAD_SETTINGS).map((key) => new RegExp(`^${key} `));
    const program = run(BAD_SETTINGS);
    assert.equal((await program.ended).code, 1);
    const lines = program.stderr().trimEnd().split('\n');
    assert.equal(lines.length, expected.length, program.stderr());
    for (const line of expected)
      assert.ok(
        lines.some((one) => line.test(one)),
        `${line} is not among\n${program.stderr()}`,
      );
    assert.doesNotMatch(program.stderr(), /hunter2/);
  });

  for (const [title, settings, line] of [
    [
      'a refresh token with a shorter lifetime than an access token',
      { ACCESS_TOKEN_TTL_SECONDS: '900', REFRESH_TOKEN_TTL_SECONDS: '60' },
      /^REFRESH_TOKEN_TTL_SECONDS must not be shorter/,
    ],
    [
      'a SECRET_KEY of 20 characters',
      { SECRET_KEY: newSecretKey().slice(0, 20) },
      /^SECRET_KEY is too short/,
    ],
    [
      'a SECRET_KEY that looks like an example',
      { SECRET_KEY: 'change-me-change-me-change-me-change-me-change-me' },
      /^SECRET_KEY looks like an example/,
    ],
    [
      'a SECRET_KEY_PREVIOUS that is the same key',
      { SECRET_KEY: SAME_KEY, SECRET_KEY_PREVIOUS: SAME_KEY },
      /^SECRET_KEY_PREVIOUS must be the key before SECRET_KEY/,
    ],
    [
      'a DATABASE_DIRECT_URL without a DATABASE_URL',
      { DATABASE_DIRECT_URL: 'postgres://deskbell:hunter2@one/deskbell' },
      /^DATABASE_URL must be set with DATABASE_DIRECT_URL\.$/,
    ],
    [
      'a DATABASE_URL with a mode that may not encrypt',
      { DATABASE_URL: 'postgres://deskbell:hunter2@one/deskbell?sslmode=prefer', SECRET_KEY: SAME_KEY },
      /^DATABASE_URL must have disable, require, verify-ca or verify-full as its sslmode\.$/,
    ],
    ['a SECRET_KEY of two letters', { SECRET_KEY: 'aA'.repeat(40) }, /^SECRET_KEY is not random/],
    ...['one,,two', 'one:0,two', 'one:65536,two', '[::1:5432,two', 'one two,three'].map(
      (hosts) =>
        [
          `a DATABASE_URL with the hosts "${hosts}"`,
          { DATABASE_URL: `postgres://deskbell:hunter2@${hosts}/deskbell`, SECRET_KEY: newSecretKey() },
          /^DATABASE_URL must (?!.*hunter2)/,
        ] as const,
    ),
    [
      'an EMBEDDINGS_URL without a model',
      { EMBEDDINGS_URL: 'http://localhost:11434/v1' },
      /^EMBEDDINGS_MODEL must be set with EMBEDDINGS_URL\.$/,
    ],
    [
      'an SMTP_URL without a sender',
      { SMTP_URL: 'smtp://me:hunter2@mail.example', PUBLIC_URL: 'https://desk.example' },
      /^MAIL_FROM must be set with SMTP_URL\.$/,
    ],
    [
      'an SMTP_URL without PUBLIC_URL',
      { SMTP_URL: 'smtp://me:hunter2@mail.example', MAIL_FROM: 'desk@mail.example' },
      /^PUBLIC_URL must be set with SMTP_URL/,
    ],
    [
      'an EMBEDDINGS_MODEL without a URL',
      { EMBEDDINGS_MODEL: 'bge-m3', EMBEDDINGS_API_KEY: 'hunter2' },
      /^EMBEDDINGS_URL must be set with EMBEDDINGS_MODEL\.$/,
    ],
    [
      'an EMBEDDINGS_API_KEY without a URL',
      { EMBEDDINGS_API_KEY: 'hunter2' },
      /^EMBEDDINGS_URL must be set with EMBEDDINGS_API_KEY\.$/,
    ],
    [
      'an EMBEDDINGS_API_KEY with spaces',
      { EMBEDDINGS_URL: 'http://localhost/v1', EMBEDDINGS_MODEL: 'bge-m3', EMBEDDINGS_API_KEY: 'hunter2 x' },
      /^EMBEDDINGS_API_KEY must be 1 to 1024 printable/,
    ],
    [
      'an EMBEDDINGS_URL with a password',
      { EMBEDDINGS_URL: 'https://me:hunter2@models.example/v1', EMBEDDINGS_MODEL: 'bge-m3' },
      /^EMBEDDINGS_URL must not contain a user or a password\./,
    ],
    [
      'the demo in production',
      { DEMO: 'true', NODE_ENV: 'production' },
      /^DEMO must not be true with NODE_ENV=production/,
    ],
    ...['0.0.0.0', '::', '192.168.1.5', 'desk.example'].map(
      (HOST) =>
        [`the demo with HOST=${HOST}`, { DEMO: 'true', HOST }, /^DEMO must not be true with HOST /] as const,
    ),
    [
      'an invalid webhook URL, even if another channel is used',
      { WEBHOOK_URL: 'ftp://shop.example', WEBHOOK_SECRET: `whsec_${newSecretKey()}` },
      /^WEBHOOK_URL /,
    ],
    [
      'a DATABASE_URL that asks for read-only servers',
      {
        DATABASE_URL: 'postgres://one,two/deskbell?target_session_attrs=standby',
        SECRET_KEY: newSecretKey(),
      },
      /^DATABASE_URL must have read-write or any as its target_session_attrs/,
    ],
  ] as const) {
    it(`is ${title}`, () => assert.throws(() => readConfig(settings), { message: line }));
  }
});

describe('one clear line and exit code 1', { concurrency: 3 }, () => {
  const url = 'postgres://deskbell:hunter2@127.0.0.1:1/deskbell';

  for (const setting of ['PORT', 'METRICS_PORT']) {
    it(`for a ${setting} that is in use`, async () => {
      const other = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => other.once('listening', resolve));
      const { port } = other.address() as { port: number };
      try {
        const folder = newFolder();
        await refuses(
          { DATA_DIR: folder, [setting]: String(port) },
          new RegExp(
            `^Port ${port} is in use\\. Stop the other program, or set ${setting} to another number\\.$`,
          ),
        );
        assert.deepEqual(readdirSync(folder), [], 'nothing was written');
      } finally {
        other.close();
      }
    });
  }
  it('for an address that does not belong to this machine', () =>
    refuses({ DATA_DIR: newFolder(), HOST: '192.0.2.1' }, /^HOST 192\.0\.2\.1 is not an address/));

  it('for a data folder inside a file', () =>
    refuses({ DATA_DIR: '/dev/null/x' }, /^The data folder \/dev\/null\/x cannot be created: /));
  it('for a data folder where not even root can create a file', () =>
    refusesToOpen(
      { DATA_DIR: '/sys/deskbell' },
      /^The data folder \/sys\/deskbell cannot be created: permission denied/,
    ));
  for (const [file, line] of [
    ['server.lock', /^The data folder \S+ cannot be written: /],
    ['deskbell.db', /^The database in \S+ cannot be opened: /],
    ['secret.key', /^The key in \S+ cannot be used: /],
  ] as const) {
    it(`for a data folder whose ${file} cannot be opened`, () => {
      const folder = newFolder();
      mkdirSync(join(folder, file));
      return refusesToOpen({ DATA_DIR: folder }, line);
    });
  }
  it('for a key file without a key', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'secret.key'), '\n');
    return refusesToOpen({ DATA_DIR: folder }, /^The key in \S+ is too short/);
  });
  it('for a missing key file if the database was encrypted with it, and creates no new one', async () => {
    const { env, remove } = await createDemoDatabase('sqlite');
    const file = join(env.DATA_DIR!, 'secret.key');
    rmSync(file);
    await refusesToOpen(env, /^\S+secret\.key is missing.*Restore it; .*keys rotate --revoke/);
    assert.ok(!existsSync(file));
    await remove();
  });
  it('for a data folder that another process uses, and that process keeps running', async () => {
    const first = await startDeskbell('sqlite');
    const folder = first.config.dataDir;
    await refuses({ DATA_DIR: folder }, /^The data folder \S+ is in use by another Deskbell\./);
    assert.equal((await first.call('GET', '/readyz')).status, 200);
    await first.close();
  });

  it('for PostgreSQL without SECRET_KEY', () =>
    refuses({ DATABASE_URL: url }, /^SECRET_KEY must be set with DATABASE_URL\./));
  it('for a PostgreSQL that cannot be reached', () =>
    refuses(
      { DATABASE_URL: url, SECRET_KEY: newSecretKey() },
      /^The PostgreSQL of DATABASE_URL cannot be used: nothing answers/,
    ));
  it('for several servers if none can be reached', () =>
    refusesToOpen(
      {
        DATABASE_URL: 'postgres://deskbell:hunter2@127.0.0.1:1,[::1]:1/deskbell',
        SECRET_KEY: newSecretKey(),
      },
      /^The PostgreSQL of DATABASE_URL cannot be used: nothing answers/,
    ));
  it('for a PostgreSQL that accepts connections and never responds', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    try {
      const there = `postgres://deskbell:hunter2@127.0.0.1:${port}/deskbell`;
      await refusesToOpen({ DATABASE_URL: there, SECRET_KEY: newSecretKey() }, /cannot be used: .*timeout/);
    } finally {
      silent.close();
    }
  });
  it('for an address whose password is not encoded', () =>
    refusesToOpen(
      { DATABASE_URL: 'postgres://deskbell:hunter2%@127.0.0.1:1/deskbell', SECRET_KEY: newSecretKey() },
      /^The PostgreSQL of DATABASE_URL cannot be used: /,
    ));
  if (engines.includes('postgres')) {
    it('for a PostgreSQL that does not have the database', async () => {
      const testDatabase = await createTestDatabase('postgres');
      await testDatabase.remove();
      await refusesToOpen(
        testDatabase.env,
        /^The PostgreSQL of DATABASE_URL cannot be used: database "\w+" does not exist: create it, or correct DATABASE_URL\.$/,
      );
    });
    it('for several servers if none accepts writes', async () => {
      const testDatabase = await createTestDatabase('postgres');
      const { host, pathname } = new URL(testDatabase.env.DATABASE_URL!);
      const client = new pg.Client(testDatabase.env.DATABASE_URL);
      await client.connect();
      await client.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
      await client.end();
      try {
        const several = testDatabase.env.DATABASE_URL!.replace(host, `127.0.0.1:1,${host}`);
        await refusesToOpen(
          { ...testDatabase.env, DATABASE_URL: several },
          /cannot be used: none of its hosts accepts writes\.$/,
        );
      } finally {
        await testDatabase.remove();
      }
    });
  }

  for (const [title, settings, change, line, refuse] of [
    [
      'a SECRET_KEY that does not belong to the database',
      { SECRET_KEY: newSecretKey() },
      'select 1',
      /^SECRET_KEY is not the key of this database/,
      refuses,
    ],
    [
      'a database that is newer than the program',
      {},
      `insert into schema_migrations (version, name, checksum, applied_at) values (9999, 'from_the_future', 'x', 'now')`,
      /^The database is newer than this Deskbell \([\d.]+\): it has migration 9999_from_the_future\./,
      refusesToOpen,
    ],
    [
      'a migration that was changed after it was applied',
      {},
      `update schema_migrations set checksum = 'other' where version = 1`,
      /^Migration 0001_\w+ was changed after it was applied\./,
      refusesToOpen,
    ],
  ] as const) {
    it(`for ${title}`, async () => {
      const { env, remove } = await createDemoDatabase('sqlite');
      const database = new DatabaseSync(join(env.DATA_DIR!, 'deskbell.db'));
      database.exec(change);
      database.close();
      await refuse({ ...env, ...settings }, line);
      await remove();
    });
  }
});
