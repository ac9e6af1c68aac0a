import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { DatabaseUnavailable } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { startProblem } from '../../src/startProblem.ts';
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
/** The error of a connection that an administrator ends, and of one too many. */
const ENDED = fatal('57P01', 'terminating connection due to administrator command');
const FULL = fatal('53300', 'sorry, too many clients already');
function fatal(code: string, text: string): Buffer {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from('E'), length, body]);
}

type Freezer = Awaited<ReturnType<typeof startFreezer>>;
interface Outage {
  title: string;
  begin(proxy: Freezer): unknown;
  end(proxy: Freezer): unknown;
}
const OUTAGES: readonly Outage[] = [
  { title: 'stops', begin: (proxy) => proxy.halt(), end: (proxy) => proxy.resume() },
  { title: 'freezes', begin: (proxy) => proxy.freeze(), end: (proxy) => proxy.thaw() },
];

describe('PostgreSQL is away', { skip: !engines.includes('postgres'), concurrency: true }, () => {
  const databases: TestDatabase[] = [];
  let postgresUrl: string;
  const servers: Deskbell[] = [];
  const proxies: { close(): void }[] = [];
  const kept = <T extends { close(): void }>(proxy: T): T => {
    proxies.push(proxy);
    return proxy;
  };
  const through = ({ url }: { url: string }): TestDatabase => {
    const { DATABASE_DIRECT_URL: _, ...env } = databases[0]!.env;
    return { env: { ...env, DATABASE_URL: url }, async remove() {} };
  };
  const open = (proxy: { url: string }, purpose: 'serve' | 'command') =>
    openDatabase(readConfig(through(proxy).env), purpose);

  const outages = OUTAGES.map((outage) => ({ ...outage, proxy: {} as Freezer, deskbell: {} as Deskbell }));
  let blocked: Deskbell;
  before(async () => {
    for (const _ of [1, 2]) databases.push(await createDemoDatabase('postgres', 'weak'));
    const [{ env }, ofBlocked] = databases as [TestDatabase, TestDatabase];
    postgresUrl = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL!;
    // One after another, before the tests, which mostly wait: a start keeps this process from reading in time.
    for (const { proxy, deskbell } of outages) {
      Object.assign(proxy, kept(await startFreezer(postgresUrl)));
      Object.assign(deskbell, await startDeskbell('postgres', {}, through(proxy)));
      servers.push(deskbell);
    }
    blocked = await startDeskbell('postgres', {}, ofBlocked);
    servers.push(blocked);
  });
  after(async () => {
    for (const { proxy } of outages) proxy.thaw?.();
    for (const server of servers) await server.close();
    for (const proxy of proxies) proxy.close();
    for (const database of databases) await database.remove();
  });

  for (const outage of outages) {
    describe(`because it ${outage.title}`, { concurrency: false }, () => survives(outage));
  }

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
    const database = await open(proxy, 'serve');
    endsReady = true;
    proxy.breakAll();
    for (let n = 0; n < 10; n += 1) await assert.rejects(database.one('select 1'), DatabaseUnavailable);
    endsReady = false;
    const isBack = () => database.one('select 1').catch(() => undefined);
    await until('it recovers', isBack);
    await database.close();
  });

  it('for the first connections of a start or a command, which wait', async () => {
    let delaysMs: number[] = [];
    const proxy = kept(
      await startPostgresProxy(postgresUrl, async (client, upstream) => {
        const delayMs = delaysMs.shift() ?? 0;
        if (delayMs === Number.POSITIVE_INFINITY) return;
        await sleep(delayMs);
        client.pipe(upstream).pipe(client);
      }),
    );
    for (const [purpose, ...delays] of [
      ['serve', Number.POSITIVE_INFINITY, 0, 2000],
      ['command', 2000, 2000],
    ] as const) {
      delaysMs = [...delays];
      const database = await open(proxy, purpose);
      // The lock of the migrations has a connection of its own.
      await database.exclusively('migrate', async () => {}).finally(() => database.close());
      assert.deepEqual(delaysMs, []);
    }
  });

  it('for the connection with which a server shows itself to others: it does not start, and says why', async () => {
    const proxy = kept(
      await startPostgresProxy(postgresUrl, (client, upstream) => {
        client.once('data', (data) => {
          if (data.includes('deskbell signals')) return client.end(FULL);
          upstream.write(data);
          client.pipe(upstream).pipe(client);
        });
      }),
    );
    const database = await open(proxy, 'serve');
    const isRefused = (error: unknown) => /PostgreSQL has no free connection/.test(`${startProblem(error)}`);
    await assert.rejects(database.announce('a server'), isRefused).finally(() => database.close());
  });

  it('for the statuses of a channel, and the server still stops in time', async () => {
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
      await Promise.all([holder.end(), other.end()]);
    }
  });
});

function survives({ proxy, deskbell, begin, end }: Outage & { proxy: Freezer; deskbell: Deskbell }): void {
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

  it('quickly refuses requests that need the database, and serves the others', async () => {
    session = (await login(deskbell)).json;
    await Promise.all(['one', 'two', 'three'].map((question) => raise(question)));
    // Fills the pool: requests without a free connection fail sooner than those that wait on one.
    await Promise.all(Array.from({ length: 4 }, () => notification('GET', '/')));
    const inFlight = [raise('four'), raise('five', { 'idempotency-key': 'five' })];
    await begin(proxy);
    // The signing keys are due to be read again. No request waits for that either.
    deskbell.clock.jump(60);
    const { access_token: token, refresh_token } = session;
    // Twice: the first requests use connections that break, the second get no connection.
    for (const nth of [1, 2]) {
      await Promise.all([
        ...[
          notification('GET', '/'),
          notification('GET', '/1'),
          notification('POST', '/4/answer', { answer: 'Yes.' }),
          notification('POST', '/4/answer', { answer: 'Yes.' }, { 'idempotency-key': 'away' }),
          notification('DELETE', '/1'),
          raise(`away-${nth}`),
          raise(`away-${nth}`, { 'idempotency-key': `away-${nth}` }),
        ].map(async (reply) => assertUnavailable(await reply, 500)),
        ...[
          call('POST', '/api/v1/auth/login', { body: AURORA }),
          call('POST', '/api/v1/auth/refresh', { body: { refresh_token } }),
          call('POST', '/api/v1/auth/logout', { body: { refresh_token } }),
          call('GET', '/api/v1/auth/me', { token }),
          call('GET', '/readyz'),
        ].map(async (reply) => assertUnavailable(await reply, 503)),
        ...['/healthz', '/metrics', '/.well-known/jwks.json', '/openapi.json'].map(async (path) =>
          assert.equal((await call('GET', path)).status, 200, path),
        ),
      ]);
    }
    for (const reply of await Promise.all(inFlight)) if (reply.status !== 200) assertUnavailable(reply, 500);
  });

  it('recovers without a restart, and has lost nothing that was acknowledged', async () => {
    await end(proxy);
    await until('it is ready', async () => (await call('GET', '/readyz')).status === 200, RECOVERY_MAX_MS);
    const [address] = acknowledged.keys();
    const token = session.access_token;
    assert.equal((await call('POST', `${address}/answer`, { token, body: { answer: 'Yes.' } })).status, 200);
    assert.equal((await login({ call })).status, 200);
    assert.equal((await raise('again')).status, 200);
    const found = new Map<string, string>();
    for (const { id, context } of (await notification('GET', '/')).json)
      found.set(`${NOTIFICATIONS}/${id}`, context.question);
    for (const [location, question] of acknowledged) assert.equal(found.get(location), question);
  });

  it('still stops in time', async () => {
    // A server that has sent a message waits for the database to record it.
    await deskbell.allSent();
    await begin(proxy);
    await inTime(deskbell.close());
    await end(proxy);
  });
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const tooLate = sleep(REQUEST_MAX_MS, undefined, { ref: false }).then(() =>
    assert.fail('no response in time'),
  );
  return Promise.race([work, tooLate]);
}

function assertUnavailable({ status, headers, json, text }: Reply, expected: number): void {
  assert.equal(status, expected, text);
  assert.equal(json.code, 'SERVICE_UNAVAILABLE');
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
}
