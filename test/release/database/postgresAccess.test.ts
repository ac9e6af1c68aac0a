import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { findOrInstall, findProgram, type Service, startPostgres } from '../../../scripts/services.ts';
import { postgresAddressProblem } from '../../../src/database/address.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { run, runAsProcess } from '../../support/command.ts';
import { createTestDatabase, engines, type TestDatabase } from '../../support/databases.ts';
import { unlessLate } from '../../support/unlessLate.ts';

/** Who may connect to PostgreSQL, and how: with passwords, roles and TLS. */

const openssl = engines.includes('postgres') ? findOrInstall('openssl', 'openssl') : undefined;
const program = findProgram('postgres');
const skip = (openssl && program) || process.env.CI === 'true' ? false : 'needs PostgreSQL and openssl';

const HBA = `
host all deskbell 127.0.0.1/32 trust
host all stranger 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
`;
/** Quickly made. */
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

describe('access to PostgreSQL', { skip }, () => {
  let folder: string;
  let postgres: Service;
  /** Without TLS. */
  let plain: TestDatabase;
  const file = (name: string) => join(folder, name);
  const make = (...args: string[]) => execFileSync(openssl!, args, { cwd: folder, stdio: 'ignore' });
  const authority = (name: string) => {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    make('req', '-x509', ...NEW_KEY, '-days', '2', '-subj', `/CN=${name}`, ...files);
  };
  const certificate = (name: string, host: string) => {
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${host}`];
    make('req', '-newkey', 'rsa:2048', '-nodes', ...subject, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const signed = ['-CA', 'ours.pem', '-CAkey', 'ours.key', '-days', '2', '-copy_extensions', 'copy'];
    make('x509', '-req', '-in', `${name}.csr`, ...signed, '-out', `${name}.pem`);
  };
  const withClient = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client(url);
    await client.connect();
    return work(client).finally(() => client.end());
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-access-'));
    chmodSync(folder, 0o755);
    authority('ours');
    authority('other');
    certificate('server', 'DNS:localhost');
    certificate('deskbell', 'DNS:client');
    writeFileSync(file('pg_hba.conf'), HBA, { mode: 0o644 });
    plain = await createTestDatabase('postgres');
    // PostgreSQL reads only a key of its own user.
    if (process.getuid?.() === 0) {
      const data = await withClient(plain.env.DATABASE_URL!, (client) =>
        client.query(`select current_setting('data_directory') as folder`),
      );
      const { uid, gid } = statSync(data.rows[0].folder);
      chownSync(file('server.key'), uid, gid);
    }
    postgres = await startPostgres(program!, {
      durable: false,
      settings: {
        ...{ ssl: 'on', ssl_cert_file: file('server.pem'), ssl_key_file: file('server.key') },
        ...{ ssl_ca_file: file('ours.pem'), hba_file: file('pg_hba.conf') },
        // A connection that waits for a password is not closed by the server before the test fails.
        authentication_timeout: '600',
      },
    });
    await withClient(postgres.url, async (client) => {
      await client.query(`create role shopkeeper login password 'hunter2'`);
      await client.query('create database shop');
    });
  });
  after(async () => {
    await postgres?.stop();
    await plain?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  describe('that is refused ends the program at once, in one line', () => {
    const NONE_GIVEN =
      /^The PostgreSQL of DATABASE_URL cannot be used: the server wants a password, and DATABASE_URL has none\.$/m;
    const OWNER = /make the role the owner of the database \(alter database … owner to …\)\.$/m;
    for (const [title, user, line, ...commands] of [
      ['without a password: it is named', 'shopkeeper', NONE_GIVEN, 'db status', 'serve'],
      ['with a wrong password', 'shopkeeper:wrong', /authentication failed.*correct the/, 'db status'],
      ['for a forbidden role', 'stranger', /rejects connection.*: allow the role in pg_hba/, 'db status'],
      ['for another owner', 'shopkeeper:hunter2', OWNER, 'db migrate', 'serve'],
    ] as const) {
      it(title, async () => {
        const url = new URL(postgres.url);
        [url.username = '', url.password = ''] = user.split(':');
        url.pathname = 'shop';
        // Also if it is one of several hosts.
        const several = url.href.replace(url.host, `${url.host},${url.host}`);
        for (const command of commands) {
          for (const DATABASE_URL of user === 'shopkeeper' ? [url.href, several] : [url.href]) {
            const env = { DATABASE_URL, SECRET_KEY: newSecretKey(), PORT: '0' };
            const { code, stdout, stderr } = await unlessLate(
              () => runAsProcess(command.split(' '), { env }),
              (result) => /timeout/.test(result.stderr),
            );
            assert.equal(code, 1, stdout + stderr);
            assert.match(stderr, line);
            assert.equal(stderr.trim().split('\n').length, 1, stderr);
            assert.doesNotMatch(stdout + stderr, /hunter2|^\s+at /m);
          }
        }
      });
    }
  });

  describe('with sslmode means what it means for libpq:', () => {
    const ca = (name: string) => `sslrootcert=${encodeURIComponent(file(name))}`;
    const urlOf = (host: string, query: string) =>
      `${postgres.url.replace('127.0.0.1', host)}${query === '' ? '' : `?sslmode=${query}`}`;

    /** The TLS version and the client's name, or why it failed. */
    const connect = (url: string): Promise<string> =>
      unlessLate(
        () => tryToConnect(url),
        (result) => /timeout/.test(result),
      );
    async function tryToConnect(databaseUrl: string): Promise<string> {
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

    const [NAME, ADDRESS] = ['localhost', '127.0.0.1'];
    const [PLAIN, ENCRYPTED, REFUSED] = [/^plain$/, /^encrypted$/, /cannot be used: .*certificate/];
    it('from no encryption to the right name of the right authority', async () => {
      const [ours, other] = [ca('ours.pem'), ca('other.pem')];
      const client = `sslcert=${file('deskbell.pem')}&sslkey=${file('deskbell.key')}`;
      for (const [host, query, expected] of [
        [NAME, '', PLAIN],
        [NAME, 'disable', PLAIN],
        [ADDRESS, 'require', ENCRYPTED],
        [ADDRESS, 'no-verify', ENCRYPTED],
        [ADDRESS, `require&${ours}`, ENCRYPTED],
        [NAME, `require&${other}`, REFUSED],
        [ADDRESS, `verify-ca&${ours}`, ENCRYPTED],
        [NAME, `verify-ca&${other}`, REFUSED],
        [NAME, `verify-full&${ours}`, ENCRYPTED],
        [ADDRESS, `verify-full&${ours}`, /does not match cert/],
        [NAME, `verify-full&${other}`, REFUSED],
        [NAME, 'verify-full&sslrootcert=system', REFUSED],
        [NAME, `verify-full&${ours}&${client}`, /CN=deskbell$/],
        [NAME, `verify-full&${ca('none.pem')}`, /used: .*none\.pem/],
      ] as const)
        assert.match(await connect(urlOf(host, query)), expected, `${host} ${query}`);
    });

    it('require never falls back to an unencrypted connection', async () => {
      const url = plain.env.DATABASE_DIRECT_URL ?? plain.env.DATABASE_URL;
      assert.match(await connect(`${url}?sslmode=require`), /does not support SSL/);
    });

    it('with several hosts, each is checked by its own name', async () => {
      const { port } = new URL(postgres.url);
      const several = urlOf(`127.0.0.1:${port},localhost`, `verify-full&${ca('ours.pem')}`);
      assert.equal(await connect(several), 'encrypted', 'the certificate has only the name of the second');
    });

    it('the doctor says that require does not check who answers', async () => {
      const doctor = async (query: string) => {
        const env = { DATABASE_URL: urlOf(NAME, query), SECRET_KEY: newSecretKey(), PORT: '0' };
        return (await run(['doctor'], { env })).stdout;
      };
      const hint = /! DATABASE_URL has sslmode=require: .*nobody checks which server answers/;
      assert.match(await doctor('require'), hint);
      assert.doesNotMatch(await doctor(`verify-full&${ca('ours.pem')}`), hint);
    });
  });
});
