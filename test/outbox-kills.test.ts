import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../src/config.ts';
import type { Database } from '../src/database/database.ts';
import { openDatabase } from '../src/database/open.ts';
import { databaseFile } from '../src/database/sqlite.ts';
import { AURORA, call, type DatabasePlace, newDatabasePlace, onEachEngine } from './harness.ts';
import { type Serving, serve } from './process.ts';
import { type Receiver, startReceiver, webhookEnv } from './receiver.ts';
import { type Meta, metaEnv, startMeta } from './stand-ins/meta.ts';

/** The demo's first conversation. */
const CUSTOMER = '+34611550101';

onEachEngine('a message outlives the death of its server', (engine) => {
  let place: DatabasePlace;
  let database: Database;
  let receiver: Receiver;
  let meta: Meta;
  let token: string | undefined;
  /** Those that run, with what they were started with. */
  const running = new Map<Serving, string>();

  before(async () => {
    place = await newDatabasePlace(engine);
    receiver = await startReceiver();
    meta = await startMeta({ now: () => new Date() });
  });
  after(async () => {
    for (const server of running.keys()) await die(server);
    await database?.close();
    await receiver?.close();
    await meta?.close();
    await place?.remove();
  });

  async function start(settings: Record<string, string> = webhookEnv(receiver)): Promise<Serving> {
    const server = await serve({ ...place.env, LOG_LEVEL: 'warn', ...settings });
    running.set(server, JSON.stringify(settings));
    // Joins the server's database, as a command does.
    database ??= await openDatabase(readConfig(place.env), 'command');
    return server;
  }
  /** The one that the test before has left, if it is of this kind: every start costs a second. */
  async function have(settings: Record<string, string> = webhookEnv(receiver)): Promise<Serving> {
    for (const [server, kind] of running) {
      if (kind === JSON.stringify(settings)) return server;
      await die(server);
    }
    return start(settings);
  }
  async function die(server: Serving): Promise<void> {
    running.delete(server);
    await server.stop('SIGKILL');
  }

  async function answer({ url }: Serving, body: object = {}, lead_phone = CUSTOMER): Promise<void> {
    token ??= (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token as string;
    const raised = await call(url, 'POST', '/api/v1/notification/request', {
      token,
      body: {
        notification_type: 'user_question_request',
        conversation_id: 1,
        context: { question: 'Open on Sunday?', lead_phone },
      },
    });
    const address = `${raised.headers.get('location')}/answer`;
    const answered = await call(url, 'POST', address, { token, body: { answer: 'From ten.', ...body } });
    assert.equal(answered.status, 200, answered.text);
  }

  const delivery = () =>
    database.one<{ id: number; key: string; state: string; attempts: number; due_at: string }>(
      'select id, key, state, attempts, due_at from deliveries order by id desc limit 1',
    );
  async function until(what: string, isSo: () => unknown, forMs = 15_000): Promise<void> {
    for (const giveUpAt = Date.now() + forMs; Date.now() < giveUpAt; await sleep(10))
      if (await isSo()) return;
    assert.fail(`it did not happen that ${what}: ${JSON.stringify(await delivery())}`);
  }
  const untilState = (state: string) =>
    until(`it is ${state}`, async () => (await delivery())?.state === state);
  /** As if the time of a lease, or of the wait for an echo, had passed: nobody need sit through it. */
  const timePasses = () =>
    database.run(`update deliveries set due_at = $1 where state = 'sending'`, [new Date().toISOString()]);
  /** How often the newest message was taken by the channel. */
  async function timesTaken(): Promise<number> {
    const { key } = (await delivery())!;
    return receiver.received.filter(({ headers }) => headers['webhook-id'] === key).length;
  }
  const isCalled = async () => (await delivery()) !== undefined && (await timesTaken()) > 0;
  const takeAll = () => {
    receiver.answer = (response) => response.writeHead(204).end();
  };

  it('that dies before anybody has taken it up', async () => {
    const server = await start({ WORKER: 'false', ...webhookEnv(receiver) });
    await answer(server);
    await die(server);
    await start();
    await untilState('sent');
    assert.equal(await timesTaken(), 1);
  });

  it('that dies after the claim, before the channel is called', async () => {
    const server = await have();
    await (engine === 'postgres' ? dieHeldUp(server) : dieFrozen(server));
    assert.deepEqual([(await delivery())?.state, await timesTaken()], ['sending', 0]);
    await timePasses();
    await start();
    await untilState('sent');
    assert.equal(await timesTaken(), 1);
  });

  /** The worker looks at this table between the two. */
  async function dieHeldUp(server: Serving): Promise<void> {
    const client = new pg.Client(place.env.DATABASE_URL);
    await client.connect();
    try {
      await client.query('begin; lock table channel_stops in access exclusive mode');
      await answer(server);
      await untilState('sending');
      await die(server);
    } finally {
      await client.end();
    }
  }

  /** A campaign's place in the day's limit is two commits between claim and call: time to freeze it there. */
  async function dieFrozen(server: Serving): Promise<void> {
    for (let n = 0; n < 20; n += 1) {
      const before = receiver.received.length;
      const answered = answer(server, { only_send_campaign: true }, `+34600000${100 + n}`);
      const giveUpAt = Date.now() + 10_000;
      while (
        Date.now() < giveUpAt &&
        receiver.received.length === before &&
        (await delivery())?.state !== 'sending'
      ) {
        await nextTurn();
      }
      server.child.kill('SIGSTOP');
      await sleep(50);
      if (receiver.received.length === before && (await delivery())?.state === 'sending') {
        await Promise.all([die(server), answered.catch(() => {})]);
        return;
      }
      server.child.kill('SIGCONT');
      await answered;
      await untilState('sent');
    }
    assert.fail('it was never caught between the two');
  }

  it('that dies while the channel is being called', async () => {
    receiver.answer = () => {};
    const server = await have();
    await answer(server);
    await until('the channel is called', isCalled);
    await die(server);
    takeAll();
    const { due_at: leaseUntil } = (await delivery())!;
    assert.ok(Date.parse(leaseUntil) - Date.now() < 28_000, 'taken over within 30 s, a poll included');
    await timePasses();
    await start();
    await untilState('sent');
    assert.equal(await timesTaken(), 2, 'once more, under the same key');
  });

  it('that dies after the channel took it, before that is written', async () => {
    let take: () => void = () => {};
    receiver.answer = (response) => {
      take = () => response.writeHead(204).end();
    };
    const server = await have();
    await answer(server);
    await until('the channel is called', isCalled);
    const letGo = await holdWrites();
    take();
    await sleep(250);
    await die(server);
    await letGo();
    assert.equal((await delivery())?.state, 'sending');
    takeAll();
    await timePasses();
    await start();
    await untilState('sent');
    assert.equal(await timesTaken(), 2, 'once more, under the same key');
  });

  async function holdWrites(): Promise<() => Promise<void>> {
    if (engine === 'sqlite') {
      const holder = new DatabaseSync(databaseFile(place.env.DATA_DIR!));
      holder.exec('begin immediate');
      return async () => holder.close();
    }
    const client = new pg.Client(place.env.DATABASE_URL);
    await client.connect();
    await client.query('begin; lock table deliveries in share mode');
    return () => client.end();
  }

  it('that dies after that is written', async () => {
    const server = await have();
    await answer(server);
    await untilState('sent');
    await die(server);
    const calls = receiver.received.length;
    const next = await start();
    // What is sent behind it shows that the worker has looked.
    await answer(next);
    await untilState('sent');
    assert.deepEqual([receiver.received.length, await timesTaken()], [calls + 1, 1]);
  });

  /** A server on WhatsApp whose customer has just written; statuses come when the test says so. */
  async function startOnWhatsApp(): Promise<Serving> {
    const server = await have(metaEnv(meta));
    meta.webhookUrl = `${server.url}/webhooks/whatsapp`;
    await meta.customerWrites(CUSTOMER);
    await until('the window is open', () => database.one('select 1 from customer_windows'));
    meta.webhookUrl = undefined;
    return server;
  }

  it('on WhatsApp, in flight: the echo says that it went, and nothing goes twice', async () => {
    const first = await startOnWhatsApp();
    meta.next({ hang: 'after' });
    await answer(first);
    await until('it is accepted', () => meta.accepted.length === 1);
    await die(first);
    await timePasses();
    const second = await start(metaEnv(meta));
    await until('it is taken over', () =>
      database.one('select 1 from deliveries where unsettled_since is not null'),
    );
    meta.webhookUrl = `${second.url}/webhooks/whatsapp`;
    await meta.report(meta.accepted[0]!, 'delivered');
    await untilState('delivered');
    assert.deepEqual([...meta.tally().values()], [1]);
  });

  it('on WhatsApp, in flight, without an echo: it goes once more, under the same key', async () => {
    for (const hang of ['before', 'after'] as const) {
      const before = meta.accepted.length;
      const first = await startOnWhatsApp();
      meta.next({ hang });
      await answer(first);
      await untilState('sending');
      if (hang === 'after') await until('it is accepted', () => meta.accepted.length === before + 1);
      else await sleep(250);
      await die(first);
      await timePasses();
      await start(metaEnv(meta));
      await until('it is taken over', () =>
        database.one('select 1 from deliveries where unsettled_since is not null'),
      );
      await timePasses();
      await untilState('sent');
      const { key } = (await delivery())!;
      assert.equal(meta.tally().get(key), hang === 'after' ? 2 : 1);
    }
    assert.equal(meta.tally().size, 3, 'no other key');
  });

  if (engine === 'postgres') {
    it('and is taken over by another server within 30 seconds', { timeout: 60_000 }, async () => {
      receiver.answer = () => {};
      const first = await have();
      await answer(first);
      await until('the channel is called', isCalled);
      await start();
      takeAll();
      await die(first);
      const diedAt = Date.now();
      await until('it is sent again', async () => (await timesTaken()) === 2, 30_000);
      assert.ok(Date.now() - diedAt < 30_000);
      await untilState('sent');
    });
  }
});
