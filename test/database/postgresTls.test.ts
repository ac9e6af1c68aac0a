import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findOrInstall, findProgram, type Service, startPostgres } from '../../scripts/services.ts';
import { postgresAddressProblem } from '../../src/database/address.ts';
import { openDatabase } from '../../src/database/open.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { run } from '../support/command.ts';
import { engines } from '../support/databases.ts';
import { unlessLate } from '../support/unlessLate.ts';

const openssl = engines.includes('postgres') ? findOrInstall('openssl', 'openssl') : undefined;
const program = findProgram('postgres');
const skip = (openssl && program) || process.env.CI === 'true' ? false : 'needs PostgreSQL and openssl';
/** Quickly made. */
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

describe('sslmode in DATABASE_URL means what it means for libpq', { skip }, () => {
  let folder: string;
  let encrypted: Service;
  let plain: Service;
  const file = (name: string) => join(folder, name);
  const make = (...args: string[]) => execFileSync(openssl!, args, { cwd: folder, stdio: 'ignore' });
  const authority = (name: string) =>
    make(
      ...['req', '-x509', ...NEW_KEY, '-days', '2', '-subj', `/CN=${name}`],
      ...['-keyout', `${name}.key`, '-out', `${name}.pem`],
    );
  const certificate = (name: string, host: string) => {
    make(
      ...[
        'req',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-subj',
        `/CN=${name}`,
        '-addext',
        `subjectAltName=${host}`,
      ],
      ...['-keyout', `${name}.key`, '-out', `${name}.csr`],
    );
    make(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ours.pem', '-CAkey', 'ours.key', '-days', '2'],
      ...['-copy_extensions', 'copy', '-out', `${name}.pem`],
    );
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-tls-'));
    chmodSync(folder, 0o755);
    authority('ours');
    authority('other');
    certificate('server', 'DNS:localhost');
    certificate('deskbell', 'DNS:client');
    plain = await startPostgres(program!, { durable: false });
    // PostgreSQL reads only a key of its own user.
    if (process.getuid?.() === 0) {
      const { uid, gid } = statSync(`/proc/${plain.process.pid}`);
      chownSync(file('server.key'), uid, gid);
    }
    const settings = { ssl: 'on', ssl_cert_file: file('server.pem'), ssl_key_file: file('server.key') };
    encrypted = await startPostgres(program!, {
      durable: false,
      settings: { ...settings, ssl_ca_file: file('ours.pem') },
    });
  });
  after(async () => {
    await Promise.all([encrypted?.stop(), plain?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const urlOf = (service: Service, host: string, query: string) =>
    `${service.url.replace('127.0.0.1', host)}${query === '' ? '' : `?${query}`}`;

  /** The TLS version and the client's name, or why it failed. */
  const connect = (service: Service, host: string, query: string): Promise<string> =>
    unlessLate(
      () => tryToConnect(service, host, query),
      (result) => /timeout/.test(result),
    );
  async function tryToConnect(service: Service, host: string, query: string): Promise<string> {
    const databaseUrl = urlOf(service, host, query);
    assert.equal(postgresAddressProblem(databaseUrl), undefined);
    const options = { databaseUrl, dataDir: '', databasePoolSize: 1, databasePreparedStatements: true };
    try {
      const database = await openDatabase(options, 'command');
      const row = await database.one<{ ssl: boolean; client_dn: string | null }>(
        'select ssl, client_dn from pg_stat_ssl where pid = pg_backend_pid()',
      );
      await database.close();
      return row!.ssl ? `encrypted${row!.client_dn ?? ''}` : 'plain';
    } catch (error) {
      return (error as Error).message;
    }
  }

  const ca = (name: string) => `sslrootcert=${encodeURIComponent(file(name))}`;
  const CASES: [title: string, host: string, query: () => string, expected: RegExp][] = [
    ['no sslmode: unencrypted', 'localhost', () => '', /^plain$/],
    ['disable: unencrypted', 'localhost', () => 'sslmode=disable', /^plain$/],
    ['require: encrypted, whoever answers', '127.0.0.1', () => 'sslmode=require', /^encrypted$/],
    ['no-verify, the driver’s name: the same', '127.0.0.1', () => 'sslmode=no-verify', /^encrypted$/],
    [
      'require with a certificate authority: checks it, but not the name',
      '127.0.0.1',
      () => `sslmode=require&${ca('ours.pem')}`,
      /^encrypted$/,
    ],
    [
      'require with another authority: refused',
      'localhost',
      () => `sslmode=require&${ca('other.pem')}`,
      /cannot be used: .*certificate/,
    ],
    ['verify-ca: any name', '127.0.0.1', () => `sslmode=verify-ca&${ca('ours.pem')}`, /^encrypted$/],
    [
      'verify-ca with another authority: refused',
      'localhost',
      () => `sslmode=verify-ca&${ca('other.pem')}`,
      /cannot be used: .*certificate/,
    ],
    [
      'verify-full: the right name',
      'localhost',
      () => `sslmode=verify-full&${ca('ours.pem')}`,
      /^encrypted$/,
    ],
    [
      'verify-full with another name: refused',
      '127.0.0.1',
      () => `sslmode=verify-full&${ca('ours.pem')}`,
      /cannot be used: .*does not match certificate/,
    ],
    [
      'verify-full with another authority: refused',
      'localhost',
      () => `sslmode=verify-full&${ca('other.pem')}`,
      /cannot be used: .*certificate/,
    ],
    [
      'verify-full with the public authorities: refused',
      'localhost',
      () => 'sslmode=verify-full&sslrootcert=system',
      /cannot be used: .*certificate/,
    ],
    [
      'a certificate of the client',
      'localhost',
      () =>
        `sslmode=verify-full&${ca('ours.pem')}&sslcert=${file('deskbell.pem')}&sslkey=${file('deskbell.key')}`,
      /^encrypted.*CN=deskbell$/,
    ],
    [
      'a file that does not exist: refused',
      'localhost',
      () => `sslmode=verify-full&${ca('nowhere.pem')}`,
      /cannot be used: .*nowhere\.pem/,
    ],
  ];
  for (const [title, host, query, expected] of CASES) {
    it(title, async () => assert.match(await connect(encrypted, host, query()), expected));
  }

  it('require never falls back to an unencrypted connection', async () => {
    assert.match(await connect(plain, 'localhost', 'sslmode=require'), /does not support SSL/);
  });

  it('with several hosts, each is checked by its own name', async () => {
    const { port } = new URL(encrypted.url);
    const both = encrypted.url.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port},localhost:${port}`);
    const several = { ...encrypted, url: both } as Service;
    assert.equal(
      await connect(several, '127.0.0.1', `sslmode=verify-full&${ca('ours.pem')}`),
      'encrypted',
      'the second one is used, because the certificate has not the name of the first',
    );
  });

  it('other values, and verify-ca without an authority, are refused at the start', () => {
    for (const [query, line] of [
      ['sslmode=prefer', /disable, require, verify-ca or verify-full as its sslmode/],
      ['sslmode=allow', /as its sslmode/],
      ['sslmode=Require', /as its sslmode/],
      ['sslmode=verify-ca', /must have sslrootcert/],
      ['sslmode=require&sslrootcert=system', /verify-full with sslrootcert=system/],
    ] as const)
      assert.match(postgresAddressProblem(`postgres://db.example/x?${query}`) ?? '', line);
  });

  it('the doctor says that require does not check who answers', async () => {
    const doctor = async (query: string) =>
      (
        await run(['doctor'], {
          env: { DATABASE_URL: urlOf(encrypted, 'localhost', query), SECRET_KEY: newSecretKey(), PORT: '0' },
        })
      ).stdout;
    const hint = /! DATABASE_URL has sslmode=require: .*nobody checks which server answers/;
    assert.match(await doctor('sslmode=require'), hint);
    assert.doesNotMatch(await doctor(`sslmode=verify-full&${ca('ours.pem')}`), hint);
  });
});
