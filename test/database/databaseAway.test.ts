import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findProgram, type Service, startPostgres } from '../../scripts/services.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { run } from '../support/command.ts';
import { engines } from '../support/databases.ts';
import { freeze } from '../support/freezing.ts';
import { startPostgresProxy } from '../support/postgresProxy.ts';
import { newFolder, run as runProgram, type Serving, serve } from '../support/process.ts';
import {
  AURORA,
  type CallOptions,
  call,
  type Deskbell,
  NOTIFICATIONS,
  type Reply,
  startDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

/**
 * The fault tests measure that it takes at most five seconds, with nothing else running. Here, next to other tests,
 * we only show that no request waits until the database is back.
 */
const REQUEST_MAX_MS = 15_000;
const RECOVERY_MAX_MS = 15_000;

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

interface Fault {
  title: string;
  begin(): Promise<void>;
  end(): Promise<void>;
  /** Also those that nobody uses at the time. */
  breaksConnections?: true;
}

/** One PostgreSQL for all tests, because its start is expensive. The first server fills its database. */
let postgres: Service;
const SECRET_KEY = newSecretKey();
const settings = () => ({
  DATA_DIR: newFolder(),
  DATABASE_URL: postgres.url,
  SECRET_KEY,
  LOG_LEVEL: 'fatal',
  DEMO: 'true',
});

/** Two kinds of outage: connections are refused, or accepted without any response. */
let thaw = () => {};
const FAULTS: Fault[] = [
  {
    title: 'is stopped',
    begin: () => postgres.halt(),
    end: () => postgres.resume(),
    breaksConnections: true,
  },
  {
    title: 'is frozen',
    async begin() {
      thaw = await freeze(postgres);
    },
    end: async () => thaw(),
  },
];

if (engines.includes('postgres')) {
  before(async () => {
    postgres = await startPostgres(findProgram('postgres')!, { durable: false });
  });
  after(() => postgres?.stop());
  for (const fault of FAULTS) {
    describe(`PostgreSQL ${fault.title} while a server runs`, () => survives(fault));
  }
  it('PostgreSQL ends a connection in the moment in which it becomes ready', async () => {
    let endsReady = false;
    const proxy = await startPostgresProxy(postgres.url, (client, upstream) => {
      client.pipe(upstream);
      upstream.on('data', (data) => {
        if (endsReady && data.subarray(-READY.length).equals(READY)) client.end(Buffer.concat([data, ENDED]));
        else client.write(data);
      });
    });
    const server = await serve({ ...settings(), DATABASE_URL: proxy.url });
    try {
      endsReady = true;
      proxy.breakAll();
      for (let n = 0; n < 10; n += 1)
        assert.equal((await call(server.url, 'GET', '/readyz')).status, 503, `${server.stderr()}`);
      endsReady = false;
      await until('it recovers', async () => (await call(server.url, 'GET', '/readyz')).status === 200);
      assert.equal(server.stderr(), '');
    } finally {
      await server.stop();
      proxy.close();
    }
  });
  it('a start and a command wait for a PostgreSQL that is slow to answer their first connections', async () => {
    const client = new pg.Client(postgres.url);
    await client.connect();
    for (const name of ['for_a_start', 'for_a_command']) await client.query(`create database ${name}`);
    await client.end();
    let delaysMs: number[] = [];
    const proxy = await startPostgresProxy(postgres.url, async (client, upstream) => {
      const delayMs = delaysMs.shift() ?? 0;
      if (delayMs === Number.POSITIVE_INFINITY) return;
      await sleep(delayMs);
      client.pipe(upstream).pipe(client);
    });
    const settingsOf = (name: string) => ({
      ...settings(),
      DATABASE_URL: Object.assign(new URL(proxy.url), { pathname: name }).href,
    });
    try {
      // Nothing answers the first two. The fourth is that of the lock of the migrations.
      delaysMs = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0, 2500];
      await (await serve(settingsOf('for_a_start'))).stop();
      assert.deepEqual(delaysMs, []);
      delaysMs = [2500, 2500];
      const { code, stderr } = await run(['db', 'migrate'], { env: settingsOf('for_a_command') });
      assert.equal(code, 0, stderr);
      assert.deepEqual(delaysMs, []);
    } finally {
      proxy.close();
    }
  });
  it('a server that others could not see does not start, and says why', async () => {
    const proxy = await startPostgresProxy(postgres.url, (client, upstream) => {
      client.once('data', (data) => {
        if (data.includes('deskbell signals')) return client.end(FULL);
        upstream.write(data);
        client.pipe(upstream).pipe(client);
      });
    });
    try {
      const program = runProgram({ ...settings(), DATABASE_URL: proxy.url, PORT: '0' });
      assert.equal((await program.ended).code, 1, program.stderr());
      assert.match(program.stderr(), /^[^\n]*PostgreSQL has no free connection[^\n]*\n$/);
    } finally {
      proxy.close();
    }
  });
  it('a server stops in time even if it cannot store the statuses of a channel', async () => {
    const server = await serve(settings());
    const [holder, other] = [new pg.Client(postgres.url), new pg.Client(postgres.url)];
    try {
      await Promise.all([holder.connect(), other.connect()]);
      await holder.query('begin; lock table deliveries in access exclusive mode');
      await other.query(`
        insert into inbound_updates (id, channel_id, payload, received_at)
          select 'update ' || n, 'whatsapp:1', '{"kind":"message","phone":"+34611550000","at":"2026-01-01"}', '2026'
          from generate_series(1, 100) as n`);
      const waiting = `select from pg_stat_activity where application_name = 'deskbell' and wait_event_type = 'Lock'`;
      while ((await other.query(waiting)).rowCount === 0) await sleep(20);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    } finally {
      await Promise.all([holder.end(), other.end()]);
      await server.stop();
    }
  });
  it('a migration on PostgreSQL may take longer than a request', async () => {
    const deskbell = await startDeskbell('postgres');
    await deskbell.database.script('select pg_sleep(3.5)').finally(() => deskbell.close());
  });
}

function survives({ begin, end, breaksConnections }: Fault): void {
  let server: Serving;
  /** A server on the same database, with a clock that the test controls. */
  let otherServer: Deskbell;
  let token: string;
  let refreshToken: string;
  const acknowledged = new Map<string, string>();
  const ask = (method: string, path: string, options?: CallOptions) =>
    call(server.url, method, path, options);
  const notification = (method: string, path: string, body?: unknown, headers = {}) =>
    ask(method, NOTIFICATIONS + path, { token, body, headers });

  before(async () => {
    const env = settings();
    server = await serve(env);
    otherServer = await startDeskbell('postgres', {}, { env, async remove() {} });
    ({ access_token: token, refresh_token: refreshToken } = (
      await ask('POST', '/api/v1/auth/login', { body: AURORA })
    ).json);
  });
  after(async () => {
    // A frozen process cannot stop.
    thaw();
    await otherServer?.close();
    await server?.stop();
  });

  /** Raises one question after another, every second one in a transaction, and returns the responses. */
  async function write(name: string, until: () => boolean): Promise<Reply[]> {
    const refused: Reply[] = [];
    for (let count = 0; !until(); count += 1) {
      const question = `${name}-${count}`;
      const body = { notification_type: 'user_question_request', conversation_id: 1, context: { question } };
      const headers = count % 2 === 0 ? {} : { 'idempotency-key': question };
      const reply = await inTime(notification('POST', '/request', body, headers));
      if (reply.status === 200) acknowledged.set(reply.headers.get('location')!, question);
      else {
        refused.push(reply);
        // A refusal comes at once, so without a pause there would be thousands.
        await sleep(20);
      }
    }
    return refused;
  }

  const notificationCalls = () => [
    notification('GET', '/'),
    notification('GET', '/1'),
    notification('POST', '/4/answer', { answer: 'Yes.' }),
    notification('POST', '/4/answer', { answer: 'Yes.' }, { 'idempotency-key': 'away' }),
    notification('DELETE', '/1'),
  ];
  const authCalls = () => [
    ask('POST', '/api/v1/auth/login', { body: AURORA }),
    ask('POST', '/api/v1/auth/refresh', { body: { refresh_token: refreshToken } }),
    ask('POST', '/api/v1/auth/logout', { body: { refresh_token: refreshToken } }),
    ask('GET', '/api/v1/auth/me', { token }),
    ask('GET', '/readyz'),
  ];
  const listFromOther = () => otherServer.call('GET', `${NOTIFICATIONS}/`, { token });

  async function untilReady(): Promise<void> {
    const start = performance.now();
    while ((await ask('GET', '/readyz')).status !== 200) {
      assert.ok(performance.now() - start < RECOVERY_MAX_MS, 'not ready again');
      await sleep(50);
    }
  }

  it('quickly refuses requests that need the database, and serves the others', async () => {
    let done = false;
    const writers = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => write(name, () => done));
    while (acknowledged.size < writers.length) await sleep(20);
    // Fills the pool: requests without a free connection fail sooner than those that wait on one.
    await Promise.all(Array.from({ length: 4 }, listFromOther));
    await begin();
    // The signing keys are due to be read again. No request waits for that either.
    otherServer.clock.jump(60);
    try {
      // Twice: the first requests use connections that break, the second get no connection.
      for (const _ of [1, 2]) {
        await Promise.all([
          assertRefused(listFromOther(), 500),
          ...notificationCalls().map((reply) => assertRefused(reply, 500)),
          ...authCalls().map((reply) => assertRefused(reply, 503)),
          ...['/healthz', '/metrics', '/.well-known/jwks.json', '/openapi.json'].map(async (path) =>
            assert.equal((await inTime(ask('GET', path))).status, 200, path),
          ),
        ]);
      }
    } finally {
      done = true;
    }
    const refused = (await Promise.all(writers)).flat();
    assert.ok(refused.length > 0);
    for (const reply of refused) assertUnavailable(reply, 500);
    assert.equal(server.child.exitCode, null, 'the process stays');
  });

  it('recovers when PostgreSQL is back, without a restart', async () => {
    await end();
    await untilReady();
    const [address] = acknowledged.keys();
    assert.equal((await ask('POST', `${address}/answer`, { token, body: { answer: 'Yes.' } })).status, 200);
    assert.equal((await ask('POST', '/api/v1/auth/login', { body: AURORA })).status, 200);
    const started = Date.now();
    await write('again', () => Date.now() - started > 200).then((refused) => assert.deepEqual(refused, []));
    assert.equal(server.stderr(), '');
  });

  it('has lost nothing that was acknowledged', async () => {
    const { json } = await notification('GET', '/');
    const found = new Map<string, string>();
    for (const { id, context } of json) found.set(`${NOTIFICATIONS}/${id}`, context.question);
    for (const [location, question] of acknowledged) assert.equal(found.get(location), question);
  });

  if (breaksConnections) {
    it('an idle server keeps running when PostgreSQL stops, and recovers', async () => {
      // Opens several connections, which are idle when they break.
      await Promise.all(Array.from({ length: 4 }, () => ask('GET', '/readyz')));
      await begin();
      await sleep(200);
      assert.equal((await ask('GET', '/readyz')).status, 503);
      await end();
      await untilReady();
      assert.deepEqual([server.child.exitCode, server.stderr()], [null, '']);
    });
  }

  it('still shuts down gracefully', async () => {
    // A server that has sent a message waits for the database to record it.
    await until('nothing is being sent', async () => {
      const sql = `select 1 from deliveries where state in ('queued', 'sending')`;
      return (await otherServer.database.all(sql)).length === 0;
    });
    await begin();
    const ended = await server.stop();
    assert.deepEqual({ ...ended, stderr: server.stderr() }, { code: 0, signal: null, stderr: '' });
    await end();
  });
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const tooLate = sleep(REQUEST_MAX_MS, undefined, { ref: false }).then(() =>
    assert.fail('no response in time'),
  );
  return Promise.race([work, tooLate]);
}

async function assertRefused(reply: Promise<Reply>, status: number): Promise<void> {
  assertUnavailable(await inTime(reply), status);
}

function assertUnavailable({ status, headers, json, text }: Reply, expected: number): void {
  assert.equal(status, expected, text);
  assert.equal(json.code, 'SERVICE_UNAVAILABLE');
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
}
