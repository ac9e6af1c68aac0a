import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { DatabaseUnavailable } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { startFreezer, startPostgresProxy } from '../support/postgresProxy.ts';
import {
  AURORA,
  type CallOptions,
  type Deskbell,
  directUrl,
  login,
  NOTIFICATIONS,
  type Reply,
  startDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

/** Behind a proxy that breaks or blocks the connections. The fault tests stop and freeze a real PostgreSQL. */

/**
 * Far more than the time-outs of the server, and less than a request may take in these tests. The fault tests measure how
 * long it really takes.
 */
const REQUEST_MAX_MS = 25_000;
const RECOVERY_MAX_MS = 60_000;

/** What PostgreSQL sends at the end of a start: it is ready, outside a transaction. */
const READY = Buffer.from('5a0000000549', 'hex');
/** The error of a connection that an administrator ends, with its length. */
const ERROR = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
const ENDED = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, ERROR.length + 4]), ERROR]);

type Freezer = Awaited<ReturnType<typeof startFreezer>>;

describe('PostgreSQL is away', { skip: !engines.includes('postgres') }, () => {
  const databases: TestDatabase[] = [];
  let postgresUrl: string;
  let proxy: Freezer;
  let deskbell: Deskbell;
  const proxies: { close(): void }[] = [];
  const kept = <T extends { close(): void }>(proxy: T): T => {
    proxies.push(proxy);
    return proxy;
  };
  const through = ({ url }: { url: string }): TestDatabase => {
    const { DATABASE_DIRECT_URL: _, ...env } = databases[0]!.env;
    return { env: { ...env, DATABASE_URL: url }, async remove() {} };
  };
  before(async () => {
    for (const _ of [1, 2]) databases.push(await createDemoDatabase('postgres', 'weak'));
    const { env } = databases[0]!;
    postgresUrl = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL!;
    proxy = kept(await startFreezer(postgresUrl));
    deskbell = await startDeskbell('postgres', {}, through(proxy));
  });
  after(async () => {
    proxy?.thaw();
    await deskbell?.close();
    for (const proxy of proxies) proxy.close();
    for (const database of databases) await database.remove();
  });

  let session: { access_token: string; refresh_token: string };
  const acknowledged = new Map<string, string>();
  const call = (method: string, path: string, options?: CallOptions) =>
    inTime(deskbell.call(method, path, options));
  const notification = (method: string, path: string, body?: unknown, headers = {}) =>
    call(method, NOTIFICATIONS + path, { token: session.access_token, body, headers });
  const raise = async (question: string, headers = {}): Promise<Reply> => {
    const body = { notification_type: 'user_question_request', conversation_id: 1, context: { question } };
    const reply = await notification('POST', '/request', body, headers);
    if (reply.status === 200) acknowledged.set(reply.headers.get('location')!, question);
    return reply;
  };
  const isRefused = (status: number) => (reply: Promise<Reply>) =>
    reply.then(({ status: given, headers, json, text }) => {
      assert.equal(given, status, text);
      assert.equal(json.code, 'SERVICE_UNAVAILABLE');
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    });

  for (const [title, begin, end] of [
    ['stops', () => proxy.halt(), () => proxy.resume()],
    ['freezes', () => proxy.freeze(), () => proxy.thaw()],
  ] as const) {
    it(`because it ${title}: requests that need it are quickly refused, the others are served`, async () => {
      session = (await login(deskbell)).json;
      // Fills the pool: requests without a free connection fail sooner than those that wait on one.
      await Promise.all(['one', 'two', 'three', 'four'].map((question) => raise(question)));
      const inFlight = [raise('five'), raise('six', { 'idempotency-key': title })];
      await begin();
      // The signing keys are due to be read again. No request waits for that either.
      deskbell.clock.jump(60);
      const { access_token: token, refresh_token } = session;
      // Twice: the first requests use connections that break, the second get no connection.
      for (const nth of [1, 2]) {
        const key = { 'idempotency-key': `${title}-${nth}` };
        await Promise.all([
          ...[
            notification('GET', '/'),
            notification('GET', '/1'),
            notification('POST', '/4/answer', { answer: 'Yes.' }),
            notification('POST', '/4/answer', { answer: 'Yes.' }, key),
            notification('DELETE', '/1'),
            raise(`away-${nth}`),
            raise(`away-${nth}`, key),
          ].map(isRefused(500)),
          ...[
            call('POST', '/api/v1/auth/login', { body: AURORA }),
            call('POST', '/api/v1/auth/refresh', { body: { refresh_token } }),
            call('POST', '/api/v1/auth/logout', { body: { refresh_token } }),
            call('GET', '/api/v1/auth/me', { token }),
            call('GET', '/readyz'),
          ].map(isRefused(503)),
          ...['/healthz', '/metrics', '/.well-known/jwks.json', '/openapi.json'].map(async (path) =>
            assert.equal((await call('GET', path)).status, 200, path),
          ),
        ]);
      }
      await Promise.all(inFlight.map(async (reply) => (await reply).status === 200 || isRefused(500)(reply)));
    });

    it(`because it ${title}: the server recovers, and has lost nothing that was acknowledged`, async () => {
      await end();
      await until('it is ready', async () => (await call('GET', '/readyz')).status === 200, RECOVERY_MAX_MS);
      assert.equal((await raise(`after it ${title}`)).status, 200);
      assert.equal((await login({ call })).status, 200);
      const { json: listed } = await notification('GET', '/');
      const found = new Map<number, string>();
      for (const { id, context } of listed) found.set(id, context.question);
      for (const [location, question] of acknowledged)
        assert.equal(found.get(Number(location.split('/').at(-1))), question);
    });
  }

  it('because it freezes: the server still stops in time', async () => {
    // A server that has sent a message waits for the database to record it.
    await deskbell.allSent();
    proxy.freeze();
    await inTime(deskbell.close());
    proxy.thaw();
  });

  it('in the moment in which a connection becomes ready, and the process goes on', async () => {
    let endsReady = false;
    const proxy = kept(
      await startPostgresProxy(postgresUrl, (client, upstream) => {
        client.pipe(upstream);
        upstream.on('data', (data) => {
          if (endsReady && data.subarray(-READY.length).equals(READY))
            client.end(Buffer.concat([data, ENDED]));
          else client.write(data);
        });
      }),
    );
    const database = await openDatabase(readConfig(through(proxy).env), 'serve');
    endsReady = true;
    proxy.breakAll();
    for (let n = 0; n < 10; n += 1) await assert.rejects(database.one('select 1'), DatabaseUnavailable);
    endsReady = false;
    const isBack = () => database.one('select 1').catch(() => undefined);
    await until('it recovers', isBack);
    await database.close();
  });

  it('for the statuses of a channel, and the server still stops in time', async () => {
    const blocked = await startDeskbell('postgres', {}, databases[1]);
    const url = directUrl(blocked.config);
    const [holder, other] = [new pg.Client(url), new pg.Client(url)];
    try {
      await Promise.all([holder.connect(), other.connect()]);
      await holder.query('begin; lock table deliveries in access exclusive mode');
      await other.query(`
        insert into inbound_updates (id, channel_id, payload, received_at)
          select 'update ' || n, 'whatsapp:1', '{"kind":"message","phone":"+34611550000","at":"2026-01-01"}', '2026'
          from generate_series(1, 100) as n`);
      const waiting = `select from pg_stat_activity where application_name = 'deskbell' and wait_event_type = 'Lock'
        and datname = current_database() and query like '%distinct merchant_id from deliveries%'`;
      await until('it processes them', async () => (await other.query(waiting)).rowCount! > 0);
      await inTime(blocked.close());
    } finally {
      await Promise.all([holder.end(), other.end(), blocked.close()]);
    }
  });
});

async function inTime<T>(work: Promise<T>): Promise<T> {
  const tooLate = sleep(REQUEST_MAX_MS, undefined, { ref: false }).then(() =>
    assert.fail('no response in time'),
  );
  return Promise.race([work, tooLate]);
}
