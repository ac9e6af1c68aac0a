import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { engines } from '../support/databases.ts';
import { directUrl, NOTIFICATIONS, outcome, QUESTION, raise, useDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';

/** PostgreSQL ends one of two transactions that wait for each other, and asks to run it again. SQLite writes one at a time. */
if (engines.includes('postgres')) {
  describe('a request that PostgreSQL ends because of a conflict', () => {
    let token: string;
    let other: pg.Client;
    let watcher: pg.Client;
    let deadlocks = 0;
    // Before the server removes its database.
    after(() => Promise.all([other?.end(), watcher?.end()]));
    const deskbell = useDeskbell('postgres');
    before(async () => {
      token = await deskbell.signIn();
      other = new pg.Client(directUrl(deskbell.config));
      watcher = new pg.Client(directUrl(deskbell.config));
      await Promise.all([other.connect(), watcher.connect()]);
      // The server's connection checks for deadlocks after one second, so PostgreSQL ends that one.
      await other.query(`set deadlock_timeout = '20s'`);
    });

    /** Keeps the locks of `hold` until a request waits for them, then asks for a lock of that request. */
    async function deadlock<T>(hold: string, ask: string, request: () => Promise<T>): Promise<T> {
      await other.query('begin');
      await other.query(hold);
      const requesting = request();
      // PostgreSQL itself watches: the server's connection looks for a deadlock only once, after a second, and this
      // process may pause for as long.
      await other.query(`do $$ begin
          loop
            perform pg_stat_clear_snapshot();
            exit when exists (select from pg_stat_activity where datname = current_database()
              and application_name = 'deskbell' and wait_event_type = 'Lock');
            perform pg_sleep(0.01);
          end loop;
          ${ask};
        end $$;
        commit`);
      const reply = await requesting;
      // The counter is updated a second or two later, or after ten if the connection was busy just before.
      const sql = 'select deadlocks::int from pg_stat_database where datname = current_database()';
      const deadlocked = async () => (await watcher.query(sql)).rows[0].deadlocks > deadlocks;
      await until('there was a deadlock', deadlocked);
      deadlocks += 1;
      return reply;
    }

    it('succeeds when it is one statement', async () => {
      const address = await raise(deskbell, token);
      const id = Number(address.split('/').at(-1));
      const reply = await deadlock(
        'update inboxes set version = version where merchant_id = 1',
        `update notifications set updated_at = updated_at where merchant_id = 1 and id = ${id}`,
        () => deskbell.call('DELETE', address, { token }),
      );
      assert.deepEqual(outcome(reply), { status: 200, message: 'Notification deleted.' });
      assert.equal((await deskbell.call('GET', address, { token })).status, 404);
    });

    it('succeeds when it is a transaction', async () => {
      const [{ id, version }] = (await deskbell.call('GET', '/api/v1/knowledge/', { token })).json;
      const address = `/api/v1/knowledge/${id}`;
      const reply = await deadlock(
        `update live_versions set version = version where merchant_id = 1 and topic = 'knowledge'`,
        `update documents set created_at = created_at where merchant_id = 1 and id = ${id}`,
        () => deskbell.call('PATCH', address, { token, body: { body: 'Nine to six.' } }),
      );
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.json.body, 'Nine to six.');
      assert.equal(reply.json.version, version + 1);
    });

    for (const code of ['40001', '40P01']) {
      it(`runs four times at most, and is not reported as an unavailable database (${code})`, async () => {
        await watcher.query(`
          create sequence tries;
          create function refuse() returns trigger language plpgsql as $$ begin
            perform nextval('tries');
            raise exception 'conflict' using errcode = '${code}';
          end $$;
          create trigger refusing before insert on notifications for each row execute function refuse()`);
        try {
          const headers = { 'idempotency-key': `conflict-${code}` };
          const reply = await deskbell.call('POST', `${NOTIFICATIONS}/request`, {
            token,
            body: QUESTION,
            headers,
          });
          assert.deepEqual([reply.status, reply.json.code], [500, 'INTERNAL_ERROR']);
          const { rows } = await watcher.query('select last_value::int as tries from tries');
          assert.equal(rows[0].tries, 4);
        } finally {
          await watcher.query(
            'drop trigger refusing on notifications; drop function refuse(); drop sequence tries',
          );
        }
      });
    }
  });
}
