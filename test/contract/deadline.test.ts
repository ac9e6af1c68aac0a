import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DatabaseUnavailable } from '../../src/database/database.ts';
import { runWithDeadline } from '../../src/database/deadline.ts';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { startFreezer } from '../support/postgresProxy.ts';
import {
  AURORA,
  assertError,
  type Deskbell,
  directUrl,
  NOTIFICATIONS,
  QUESTION,
  type Reply,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

/** The rest is for a busy machine. It is less than the time-out of one statement. */
const DEADLINE = { REQUEST_DEADLINE_SECONDS: '1' };
const REQUEST_MAX_MS = 2500;

/** Returns how long it took. */
async function assertRefused(title: string, request: () => Promise<Reply>): Promise<number> {
  const startedAt = performance.now();
  const { status, json, text } = await request();
  const ms = Math.round(performance.now() - startedAt);
  assert.ok(status === 500 || status === 503, `${title}: ${status} ${text}`);
  assert.equal(json.code, 'SERVICE_UNAVAILABLE', title);
  return ms;
}

/** Without a deadline they are late each time. A busy machine is only late sometimes. */
async function assertRefusedInTime(refuseAll: () => Promise<number[]>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const longestMs = Math.max(...(await refuseAll()));
    if (longestMs <= REQUEST_MAX_MS) return;
    assert.ok(tries < 5, `one took ${longestMs} ms`);
  }
}

describe('PostgreSQL does not answer', { skip: !engines.includes('postgres') }, () => {
  let testDatabase: TestDatabase;
  let network: Awaited<ReturnType<typeof startFreezer>>;
  let deskbell: Deskbell;
  before(async () => {
    testDatabase = await createDemoDatabase('postgres', 'weak');
    network = await startFreezer(testDatabase.env.DATABASE_URL!);
    const env = { ...testDatabase.env, DATABASE_URL: network.url };
    deskbell = await startDeskbell('postgres', { ...DEADLINE, WORKER: 'false' }, { ...testDatabase, env });
  });
  after(async () => {
    network?.thaw();
    await deskbell?.close();
    network?.close();
    await testDatabase?.remove();
  });

  it('every request ends within its deadline, whatever it waits for, and works again afterwards', async () => {
    const token = await deskbell.signIn();
    const ask = (method: string, path: string, body?: unknown, headers = {}) =>
      deskbell.call(method, path, { token, body, headers });
    const raise = () => ask('POST', `${NOTIFICATIONS}/request`, QUESTION);
    const requests: Record<string, () => Promise<Reply>> = {
      me: () => ask('GET', '/api/v1/auth/me'),
      'sign-in': () => ask('POST', '/api/v1/auth/login', AURORA),
      list: () => ask('GET', `${NOTIFICATIONS}/`),
      suggestions: () => ask('GET', `${NOTIFICATIONS}/4/suggestions`),
      raise,
      'raise once': () => ask('POST', `${NOTIFICATIONS}/request`, QUESTION, { 'idempotency-key': 'a' }),
      answer: () => ask('POST', `${NOTIFICATIONS}/4/answer`, { answer: 'Yes.' }),
      'change a document': () => ask('PATCH', '/api/v1/knowledge/1', { title: 'A' }),
    };
    const refuseAll = () =>
      Promise.all(Object.entries(requests).map(([title, request]) => assertRefused(title, request)));
    await assertRefusedInTime(async () => {
      network.thaw();
      // Opens connections, so that the first requests wait on one that is open, and the others for a new one.
      const isReady = async () =>
        (await Promise.all(Array.from({ length: 10 }, requests.me!))).every(({ status }) => status === 200);
      await until('it answers', isReady);
      network.freeze();
      return [...(await refuseAll()), ...(await refuseAll())];
    });
    network.thaw();
    await until('a question is raised', async () => (await raise()).status === 200);
  });
});

if (engines.includes('postgres'))
  describe('a request that has used up its time', () => {
    const deskbell = useDeskbell('postgres', { DATABASE_POOL_SIZE: '1', WORKER: 'false' });
    it('writes nothing when the lock that it waited for becomes free', async () => {
      const { database } = deskbell;
      const other = new pg.Client(directUrl(deskbell.config));
      await other.connect();
      try {
        await other.query('begin; update merchants set name = name where id = 1');
        const late = runWithDeadline({ endsAtMs: performance.now() + 1500 }, () =>
          database.transaction((tx) => tx.write(`update merchants set name = 'Late' where id = 1`)),
        );
        await assert.rejects(late, DatabaseUnavailable);
        await other.query('rollback');
        await other.query('begin; lock merchants in access exclusive mode; rollback');
        const name = await database.one<{ name: string }>('select name from merchants where id = 1');
        assert.notEqual(name!.name, 'Late');
      } finally {
        await other.end();
      }
    });

    it('leaves its connection to the others', async () => {
      const { database } = deskbell;
      const connection = async () =>
        (await database.one<{ pid: number }>('select pg_backend_pid() as pid'))?.pid;
      const before = await connection();
      const deadline = { endsAtMs: performance.now() + 30_000 };
      const late = runWithDeadline(deadline, () =>
        database.transaction(async (tx) => {
          // Less than a commit may take. Not from the beginning: then a slow "begin" would break the connection.
          deadline.endsAtMs = performance.now() + 400;
          await tx.run('select 1');
        }),
      );
      await assert.rejects(late, DatabaseUnavailable);
      assert.equal(await connection(), before);
      assert.equal(await database.transaction((tx) => tx.tryLock('a')), true);
    });
  });

describe('the deadline of a request to the embedded database', () => {
  const deskbell = useDeskbell('sqlite', DEADLINE);
  it('ends its wait for a command that is writing, and then nothing is written', async () => {
    const token = await deskbell.signIn();
    const raise = () => deskbell.call('POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
    const count = async () => {
      const sql = 'select count(*) as count from notifications where merchant_id = 1';
      return (await deskbell.database.one<{ count: number }>(sql))!.count;
    };
    const before = await count();
    const command = new DatabaseSync(databaseFile(deskbell.config.dataDir));
    command.exec('begin immediate');
    try {
      await assertRefusedInTime(async () => {
        const first = assertRefused('raise', raise);
        await sleep(500);
        // This one waits behind the first, and its time ends later.
        return Promise.all([first, assertRefused('raise behind another', raise)]);
      });
    } finally {
      command.exec('rollback');
      command.close();
    }
    assert.equal(await count(), before);
    await until('it is raised', async () => (await raise()).status === 200);
    assert.equal(await count(), before + 1);
  });
});

describe('a server that is overloaded', () => {
  const deskbell = useDeskbell('sqlite', { OVERLOAD_DELAY_MS: '100' });
  it('refuses requests, except health checks, until it is no longer', async () => {
    const token = await deskbell.signIn();
    const list = () => deskbell.call('GET', `${NOTIFICATIONS}/`, { token });
    // The server is in this process: it has no time either.
    const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    const blocking = setInterval(block, 1);
    try {
      await until('it refuses', async () => (await list()).status === 500);
      const [refused, health] = await Promise.all([list(), deskbell.call('GET', '/healthz')]);
      assertError(refused, 500, 'SERVICE_UNAVAILABLE');
      assert.equal(health.status, 200);
    } finally {
      clearInterval(blocking);
    }
    await until('it accepts', async () => (await list()).status === 200);
  });
});
