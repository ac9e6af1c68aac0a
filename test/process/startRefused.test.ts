import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { listeningProblem } from '../../src/http/listening.ts';
import { listenError } from '../../src/listenError.ts';
import { createLogger } from '../../src/log.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { openServer } from '../../src/server.ts';
import { startProblem } from '../../src/startProblem.ts';
import { createDemoDatabase, createTestDatabase, engines } from '../support/databases.ts';
import { newFolder, run, type Settings } from '../support/process.ts';
import { startDeskbell } from '../support/server.ts';
import { unlessLate } from '../support/unlessLate.ts';

/**
 * The program prints this line to standard error and exits with 1. Only two tests show that with a process: the others
 * ask for the line.
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
  const text = `${await unlessLate(problemOf, isLate)}`;
  assert.match(text, line);
  assert.doesNotMatch(text, /hunter2|\n/);
  assert.doesNotMatch(logged.join(''), /hunter2/);
}

async function listening(): Promise<{ port: number; close(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

describe('a process that cannot start', () => {
  it('says why in one line, exits with code 1 and has written nothing: its port is in use', async () => {
    const other = await listening();
    const folder = newFolder();
    const program = run({ DATA_DIR: folder, PORT: String(other.port) });
    assert.equal((await program.ended).code, 1);
    assert.match(
      program.stderr(),
      new RegExp(
        `^Port ${other.port} is in use\\. Stop the other program, or set PORT to another number\\.\n$`,
      ),
    );
    assert.equal(program.stdout(), '');
    assert.deepEqual(readdirSync(folder), []);
    other.close();
  });

  it('prints in production its mistakes as JSON, on standard output', async () => {
    const program = run({ NODE_ENV: 'production', DATA_DIR: newFolder(), PORT: 'eighty', LOG_LEVEL: 'loud' });
    assert.equal((await program.ended).code, 1);
    const lines = program.stdout().trimEnd().split('\n');
    const problems = lines.map((line) => JSON.parse(line));
    assert.deepEqual([problems[0].level, program.stderr()], ['fatal', '']);
    assert.match(problems.map(({ msg }) => msg).join('\n'), /^PORT must be.*\nLOG_LEVEL must be/m);
  });
});

it('the line about an address names the setting to change', async () => {
  const config = { host: '192.0.2.1', metricsPort: 9100 };
  const code = (await listeningProblem(config.host, 0))!;
  for (const [failure, line] of [
    [{ code, port: 0 }, /^HOST 192\.0\.2\.1 is not an address/],
    [{ code: 'EADDRINUSE', port: 9100 }, /set METRICS_PORT to another/],
  ] as const)
    assert.match(listenError(failure, config)!.message, line);
});

describe('a server refuses', { concurrency: 3 }, () => {
  const url = 'postgres://deskbell:hunter2@127.0.0.1:1/deskbell';
  const SECRET_KEY = newSecretKey();

  it('a data folder or a file in it that it cannot use', async () => {
    // Not even root can create a file there.
    const denied = /^The data folder \/sys\/deskbell cannot be created: permission denied/;
    await refusesToOpen({ DATA_DIR: '/dev/null/x' }, /^The data folder \/dev\/null\/x cannot be created: /);
    await refusesToOpen({ DATA_DIR: '/sys/deskbell' }, denied);
    for (const [file, line] of [
      ['server.lock', /^The data folder \S+ cannot be written: /],
      ['deskbell.db', /^The database in \S+ cannot be opened: /],
      ['secret.key', /^The key in \S+ cannot be used: /],
    ] as const) {
      const folder = newFolder();
      mkdirSync(join(folder, file));
      await refusesToOpen({ DATA_DIR: folder }, line);
    }
    const folder = newFolder();
    writeFileSync(join(folder, 'secret.key'), '\n');
    await refusesToOpen({ DATA_DIR: folder }, /^The key in \S+ is too short/);
  });

  it('a database that was encrypted with a key file that is missing, and creates no new one', async () => {
    const { env, remove } = await createDemoDatabase('sqlite');
    const file = join(env.DATA_DIR!, 'secret.key');
    rmSync(file);
    await refusesToOpen(env, /^\S+secret\.key is missing.*Restore it; .*keys rotate --revoke/);
    assert.ok(!existsSync(file));
    await remove();
  });

  it('a data folder that another process uses, and that process keeps running', async () => {
    const first = await startDeskbell('sqlite');
    const settings = { DATA_DIR: first.config.dataDir };
    await refusesToOpen(settings, /^The data folder \S+ is in use by another Deskbell\./);
    assert.equal((await first.call('GET', '/readyz')).status, 200);
    await first.close();
  });

  it('a PostgreSQL that it cannot reach', async () => {
    const silent = await listening();
    for (const [DATABASE_URL, line] of [
      [url, /^The PostgreSQL of DATABASE_URL cannot be used: nothing answers/],
      [url.replace('127.0.0.1:1', '127.0.0.1:1,[::1]:1'), /cannot be used: nothing answers/],
      [url.replace('127.0.0.1:1', `127.0.0.1:${silent.port}`), /cannot be used: .*timeout/],
      // This must be encoded as %25.
      [url.replace('hunter2', 'hunter2%'), /^The PostgreSQL of DATABASE_URL cannot be used: /],
    ] as const)
      await refusesToOpen({ DATABASE_URL, SECRET_KEY }, line);
    silent.close();
  });

  const needsPostgres = { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' };
  it('a PostgreSQL that does not have the database, or accepts no writes', needsPostgres, async () => {
    const testDatabase = await createTestDatabase('postgres');
    const { host, pathname } = new URL(testDatabase.env.DATABASE_URL!);
    const client = new pg.Client(testDatabase.env.DATABASE_URL);
    await client.connect();
    await client.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
    await client.end();
    const several = testDatabase.env.DATABASE_URL!.replace(host, `127.0.0.1:1,${host}`);
    const settings = { ...testDatabase.env, DATABASE_URL: several };
    await refusesToOpen(settings, /cannot be used: none of its hosts accepts writes\.$/);
    await testDatabase.remove();
    const missing = /cannot be used: database "\w+" does not exist: create it, or correct DATABASE_URL\.$/;
    await refusesToOpen(testDatabase.env, missing);
  });

  it('a database with another SECRET_KEY, of a newer version, or with a migration that was changed', async () => {
    const newer = `insert into schema_migrations (version, name, checksum, applied_at)
      values (9999, 'from_the_future', 'x', 'now')`;
    const changed = `update schema_migrations set checksum = 'other' where version = 1`;
    for (const [settings, change, line] of [
      [{ SECRET_KEY }, 'select 1', /^SECRET_KEY is not the key of this database/],
      [{}, newer, /^The database is newer than this Deskbell .*: it has migration 9999_from_the_future\./],
      [{}, changed, /^Migration 0001_\w+ was changed after it was applied\./],
    ] as const) {
      const { env, remove } = await createDemoDatabase('sqlite', 'weak');
      const database = new DatabaseSync(join(env.DATA_DIR!, 'deskbell.db'));
      database.exec(change);
      database.close();
      await refusesToOpen({ ...env, ...settings }, line);
      await remove();
    }
  });
});
