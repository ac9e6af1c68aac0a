import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { findOrInstall, type Service, startPgBouncer } from '../../../scripts/services.ts';
import { readConfig } from '../../../src/config.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createTestDatabase, engines, type TestDatabase } from '../../support/databases.ts';
import { listen } from '../../support/listening.ts';
import { isGenuine, type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { type Deskbell, login, me, raise, startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { unlessLate } from '../../support/unlessLate.ts';

const program = engines.includes('postgres') ? findOrInstall('pgbouncer', 'pgbouncer') : undefined;
const skip = program || process.env.CI === 'true' ? false : 'needs PostgreSQL and PgBouncer';
const ENOUGH_MS = 60_000;

/** PgBouncer in transaction mode, otherwise with its default settings, and no setting of ours but the direct address. */
describe('PgBouncer in transaction mode', { skip }, () => {
  let pgBouncer: Service;
  let testDatabase: TestDatabase;
  let receiver: Receiver;
  const servers: Deskbell[] = [];
  let env: Record<string, string>;
  let admin: pg.Client;

  before(async () => {
    testDatabase = await createTestDatabase('postgres');
    const { DATABASE_URL: given, DATABASE_DIRECT_URL: direct = given! } = testDatabase.env;
    pgBouncer = await startPgBouncer(program!, direct);
    env = { ...testDatabase.env, DATABASE_URL: pgBouncer.url, DATABASE_DIRECT_URL: direct };
    admin = new pg.Client(direct);
    await admin.connect();
    receiver = await startReceiver();
    receiver.answer = (response) => response.writeHead(204).end();
    const settings = { ...webhookEnv(receiver), REQUEST_DEADLINE_SECONDS: '5' };
    const shared = { env, async remove() {} };
    for (const WORKER of ['false', 'true'])
      servers.push(await startDeskbell('postgres', { ...settings, WORKER }, shared));
  });
  after(async () => {
    for (const server of servers) await server.close();
    await receiver?.close();
    await admin?.end();
    await pgBouncer?.stop();
    await testDatabase?.remove();
  });

  const textsReceived = () => receiver.received.map(({ body }) => body);
  const answer = (server: Deskbell, token: string, address: string, text: string) =>
    server.call('POST', `${address}/answer`, { token, body: { answer: text } });

  it('raises on one server, answers on another and sends from a worker, and events reach all at once', async () => {
    const [first, second] = servers as [Deskbell, Deskbell];
    const token = await first.signIn();
    assert.equal((await me(second, token)).status, 200);
    const listener = await listen(second, token);
    const address = await raise(first, token);
    // Polling would take longer than this waits.
    await listener.next('inbox');
    assert.equal((await answer(second, token, address, 'Through the pooler.')).status, 200);
    await until(
      'it is sent',
      () => textsReceived().some((text) => text.includes('Through the pooler.')),
      ENOUGH_MS,
    );
    assert.ok(receiver.received.every((call) => isGenuine(call, webhookEnv(receiver).WEBHOOK_SECRET)));
    listener.stop();
  });

  it('loses nothing that was acknowledged when PgBouncer is killed, and goes on when it is back', async () => {
    const [first, second] = servers as [Deskbell, Deskbell];
    const token = await first.signIn();
    const acknowledged: string[] = [];
    let enough = Number.POSITIVE_INFINITY;
    const giveUpAt = Date.now() + 2 * ENOUGH_MS;
    const work = async (server: Deskbell, name: string) => {
      // Without PgBouncer each takes only a moment, and its start may take seconds.
      for (let n = 0; acknowledged.length < enough && Date.now() < giveUpAt; n += 1) {
        const address = await raise(server, token).catch(() => undefined);
        const text = `Answer ${name} ${n}.`;
        if (address && (await answer(server, token, address, text)).status === 200) acknowledged.push(text);
      }
    };
    const working = [work(first, 'one'), work(second, 'two')];
    await until('some are answered', () => acknowledged.length >= 10, ENOUGH_MS);
    await pgBouncer.halt('SIGKILL');
    assert.equal((await first.call('GET', '/readyz')).status, 503);
    await pgBouncer.resume();
    enough = acknowledged.length + 20;
    await Promise.all(working);
    assert.ok(acknowledged.length >= enough);
    const isSent = (text: string) => textsReceived().some((body) => body.includes(text));
    await until('all that was acknowledged is sent', () => acknowledged.every(isSent), ENOUGH_MS);
    for (const server of servers) assert.equal((await login(server)).status, 200);
  });

  it('still has time-outs: a statement that nobody waits for is cancelled, and so is an idle transaction', async () => {
    const { database } = servers[0]!;
    const isFree = async (what: string) =>
      (await admin.query(`select 1 from pg_stat_activity where ${what}`)).rowCount === 0;
    const isOver = (mark: string) =>
      isFree(`state = 'active' and query like '%${mark}%' and pid <> pg_backend_pid()`);
    const idle = database.transaction(async (tx) => {
      await tx.run('select 1');
      const ofServer = `application_name = 'deskbell' and datname = current_database()`;
      const isEnded = () => isFree(`state = 'idle in transaction' and ${ofServer}`);
      await until('PostgreSQL ends it', isEnded, ENOUGH_MS);
      await tx.run('select 2');
    });
    const sleeping = database.transaction((tx) => tx.one('select pg_sleep(600) /* in a transaction */'));
    await Promise.all([
      assert.rejects(database.one('select pg_sleep(600) /* one statement */'), /unavailable/),
      assert.rejects(sleeping, /unavailable/),
      assert.rejects(idle),
    ]);
    await until('a server cancels it', () => isOver('one statement'), ENOUGH_MS);
    await until('its own time-out ends it', () => isOver('in a transaction'), ENOUGH_MS);
  });

  it('without the direct address, or with that of another database, one line says what to do', async () => {
    const tryToOpen = async (settings: Record<string, string>) => {
      try {
        await (await openDatabase(readConfig(settings), 'command')).close();
        return 'none';
      } catch (error) {
        return (error as Error).message;
      }
    };
    const problemOf = (settings: Record<string, string>) =>
      unlessLate(
        () => tryToOpen(settings),
        (problem) => /timeout/.test(problem),
      );
    const { DATABASE_DIRECT_URL: _, ...without } = env;
    assert.match(await problemOf(without), /it is PgBouncer\. Set DATABASE_DIRECT_URL/);
    const elsewhere = env.DATABASE_DIRECT_URL!.replace(/\/\w+$/, '/postgres');
    assert.match(await problemOf({ ...env, DATABASE_DIRECT_URL: elsewhere }), /lead to different databases/);
    assert.throws(() => readConfig({ DATABASE_DIRECT_URL: elsewhere }), /DATABASE_URL must be set/);
    assert.equal(readConfig(env).databasePreparedStatements, false);
  });
});
