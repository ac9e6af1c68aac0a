import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { findProgram, type Service, startPostgres } from '../../scripts/services.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { runAsProcess } from '../support/command.ts';
import { engines } from '../support/databases.ts';
import { unlessLate } from '../support/unlessLate.ts';

const HBA = `
host all deskbell 127.0.0.1/32 trust
host all stranger 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
`;

describe('a PostgreSQL that refuses', { skip: !engines.includes('postgres') }, () => {
  let postgres: Service;
  let folder: string;
  const urlOf = (user: string, database = 'shop') => {
    const url = new URL(postgres.url);
    url.username = user.split(':')[0]!;
    url.password = user.split(':')[1] ?? '';
    url.pathname = database;
    return url.href;
  };
  const run = (args: string[], DATABASE_URL: string) =>
    unlessLate(
      () => runAsProcess(args, { env: { DATABASE_URL, SECRET_KEY: newSecretKey(), PORT: '0' } }),
      ({ stderr }) => /timeout/.test(stderr),
    );

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-hba-'));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'pg_hba.conf'), HBA, { mode: 0o644 });
    postgres = await startPostgres(findProgram('postgres')!, {
      durable: false,
      // A connection that waits for a password is not closed by the server before the test fails.
      settings: { hba_file: join(folder, 'pg_hba.conf'), authentication_timeout: '600' },
    });
    const client = new pg.Client(postgres.url);
    await client.connect();
    await client.query(`create role shopkeeper login password 'hunter2'`);
    await client.query('create database shop');
    await client.end();
  });
  after(async () => {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const oneLine = async (args: string[], url: string, line: RegExp) => {
    const { code, stdout, stderr } = await run(args, url);
    assert.equal(code, 1, stdout + stderr);
    assert.match(stderr, line);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
    assert.doesNotMatch(stdout + stderr, /hunter2|^\s+at /m);
  };

  it('a password that is missing is named at once, and nothing waits for it', async () => {
    const line =
      /^The PostgreSQL of DATABASE_URL cannot be used: the server wants a password, and DATABASE_URL has none\.$/m;
    for (const args of [['db', 'status'], ['serve']]) await oneLine(args, urlOf('shopkeeper'), line);
    const several = new URL(urlOf('shopkeeper'));
    await oneLine(
      ['db', 'status'],
      several.href.replace(several.host, `${several.host},${several.host}`),
      line,
    );
  });

  it('a wrong password, an unknown database and a forbidden role come with what to do', async () => {
    await oneLine(['db', 'status'], urlOf('shopkeeper:wrong'), /authentication failed.*correct the password/);
    await oneLine(
      ['db', 'status'],
      urlOf('shopkeeper:hunter2', 'nowhere'),
      /"nowhere" does not exist: create it, or correct DATABASE_URL\./,
    );
    await oneLine(
      ['db', 'status'],
      urlOf('stranger'),
      /rejects connection.*: allow the role in pg_hba\.conf/,
    );
  });

  it('a role that does not own the database is told to become its owner', async () => {
    const line =
      /permission denied for schema public: make the role the owner of the database \(alter database … owner to …\)\.$/m;
    for (const args of [['db', 'migrate'], ['serve']]) await oneLine(args, urlOf('shopkeeper:hunter2'), line);
  });
});
