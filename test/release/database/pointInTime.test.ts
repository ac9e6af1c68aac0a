import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { findProgram, type Service, startPostgres } from '../../../scripts/services.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { run } from '../../support/command.ts';
import { newFolder } from '../../support/process.ts';
import { raise, startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const RECOVERED_MAX_MS = 60_000;

/** The commands of docs/production.md, with the real programs. */
const program = findProgram('postgres');
describe('a PostgreSQL database', { skip: !program && 'PostgreSQL is missing' }, () => {
  const services: Service[] = [];
  after(() => Promise.all(services.map((service) => service.stop())));

  it('can be recovered to a point in time', async () => {
    const folder = newFolder();
    const [base, archive] = [join(folder, 'base'), join(folder, 'archive')];
    mkdirSync(archive);
    // PostgreSQL runs as another user than the tests.
    for (const path of [join(folder, '..'), folder, archive]) chmodSync(path, 0o777);
    const archive_command = `test ! -f ${archive}/%f && cp %p ${archive}/%f`;
    const lost = await startPostgres(program!, {
      durable: false,
      settings: { archive_mode: 'on', archive_command },
    });
    services.push(lost);
    const env = { DATABASE_URL: lost.url, SECRET_KEY: newSecretKey() };
    const settings = { WORKER: 'false', DEMO: 'true' };
    const deskbell = await startDeskbell('postgres', settings, { env, async remove() {} });
    const tool = join(realpathSync(program!), '..', 'pg_basebackup');
    await promisify(execFile)(tool, ['-d', lost.url, '-D', base, '--checkpoint=fast', '--no-sync']);

    const token = await deskbell.signIn();
    const kept = await raise(deskbell, token);
    const [noted] = await deskbell.database.all<{ at: string }>('select clock_timestamp()::text as at');
    // The next change is later than the noted time, whatever the clock's resolution is.
    await deskbell.database.one('select pg_sleep(0.01)');
    await deskbell.database.run('delete from notifications');
    assert.equal((await deskbell.call('GET', kept, { token })).status, 404);
    await deskbell.close();
    // The last part of the log is archived when the server stops.
    await lost.halt();

    const recovered = await startPostgres(program!, {
      durable: false,
      recoverFrom: base,
      settings: {
        restore_command: `cp ${archive}/%f %p`,
        recovery_target_time: noted!.at,
        recovery_target_action: 'promote',
      },
    });
    services.push(recovered);
    await until('it is recovered', () => isPromoted(recovered.url), RECOVERED_MAX_MS);
    const own = { ...env, DATABASE_URL: recovered.url };
    assert.equal((await run(['delivery', 'hold'], { env: own })).code, 0);
    const again = await startDeskbell('postgres', {}, { env: own, async remove() {} });
    try {
      const reply = await again.call('GET', kept, { token });
      assert.equal(reply.status, 200, reply.text);
      assert.match((await run(['doctor'], { env: own })).stdout, /Sending is held/);
      assert.equal((await run(['delivery', 'release'], { env: own })).code, 0);
      await raise(again, token);
    } finally {
      await again.close();
    }
  });
});

async function isPromoted(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  try {
    await client.connect();
    return !(await client.query('select pg_is_in_recovery() as is')).rows[0].is;
  } catch {
    // It has not started yet.
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
