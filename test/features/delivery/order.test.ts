import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../../src/contract/ids.ts';
import type { Engine } from '../../../src/database/database.ts';
import { createDemoDatabase, engines, type TestDatabase } from '../../support/databases.ts';
import { type ReceivedCall, type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { enqueue } from '../../support/sending.ts';
import { type Deskbell, onEachEngine, raise, startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const MERCHANT = 1 as MerchantId;
const DAY_SECONDS = 24 * 3600;

interface Workers {
  all: Deskbell[];
  first: Deskbell;
  receiver: Receiver;
  /** Moves every clock at once, and waits until nothing is due. */
  later(seconds: number): Promise<void>;
  put(messages: readonly { recipient: string; content: string; mode: 'reply' | 'campaign' }[]): Promise<void>;
}

/** Two servers on one PostgreSQL; the embedded database has one. */
function useWorkers(engine: Engine, settings: Record<string, string> = {}): Workers {
  const workers = {} as Workers;
  let testDatabase: TestDatabase;
  before(async () => {
    testDatabase = await createDemoDatabase(engine, 'weak');
    const receiver = await startReceiver();
    const all: Deskbell[] = [];
    Object.assign(workers, { all, receiver });
    for (let n = engine === 'postgres' ? 2 : 1; n > 0; n -= 1) {
      all.push(await startDeskbell(engine, { ...webhookEnv(receiver), ...settings }, testDatabase));
    }
    workers.first = all[0]!;
  });
  after(async () => {
    for (const deskbell of workers.all ?? []) await deskbell.close();
    await workers.receiver?.close();
    await testDatabase?.remove();
  });
  const allSent = async () => {
    // Twice: another worker may have claimed what the first released.
    for (let n = 0; n < 2; n += 1) await Promise.all(workers.all.map((deskbell) => deskbell.allSent()));
  };
  workers.later = async (seconds) => {
    await allSent();
    // All at once: a worker takes what another, whose clock is late, is sending.
    for (const { clock } of workers.all) clock.jump(seconds);
    await allSent();
  };
  workers.put = async (messages) => {
    const { database, clock } = workers.first;
    await database.transaction(async (tx) => {
      for (const message of messages) {
        await enqueue(tx, MERCHANT, { notificationId: 1, conversationId: 1, at: clock.now(), ...message });
      }
    });
    // PostgreSQL does it by itself after a minute. Without it, it reads all messages again and again.
    await database.run('analyze deliveries');
  };
  return workers;
}

const recipientOf = ({ json }: ReceivedCall): string => json.data.recipient;
const phone = (n: number) => `+34600${String(n).padStart(6, '0')}`;
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

onEachEngine('240 campaigns under a limit of 60 a day', (engine) => {
  const workers = useWorkers(engine, { CHANNEL_DAILY_LIMIT: '60' });
  const waiting = () =>
    workers.first.database.all<{ recipient: string; due_at: string; state: string; waiting_for: string }>(
      `select recipient, due_at, state, waiting_for from deliveries where state <> 'sent' order by id`,
    );

  it('are sent in order, 60 a day, with none lost and none above the limit', async () => {
    const { receiver, first } = workers;
    const times: { at: number; to: string }[] = [];
    receiver.answer = (response, received) => {
      times.push({ at: first.clock.now().getTime(), to: recipientOf(received) });
      response.writeHead(204).end();
    };
    await workers.put(
      range(0, 240).map((n) => ({ recipient: phone(n), content: `Offer ${n}`, mode: 'campaign' as const })),
    );
    for (let day = 0; day < 2; day += 1) {
      await workers.later(day === 0 ? 0 : DAY_SECONDS + 60);
      const reached = times.slice(day * 60).map(({ to }) => to);
      assert.deepEqual(reached.sort(), range(day * 60, day * 60 + 60).map(phone), `day ${day + 1}`);
      const rest = await waiting();
      assert.deepEqual(
        rest.map(({ recipient }) => recipient),
        range(day * 60 + 60, 240).map(phone),
      );
      for (const [n, { state, waiting_for, due_at }] of rest.entries()) {
        assert.deepEqual([state, waiting_for], ['waiting', 'limit']);
        assert.ok(n === 0 || due_at >= rest[n - 1]!.due_at, 'each waits at least as long as the one before');
        const days = (Date.parse(due_at) - first.clock.now().getTime()) / (DAY_SECONDS * 1000);
        assert.ok(days < Math.floor(n / 60) + 1.01, `the ${n}th in the queue waits ${days} days`);
      }
    }
    assert.equal(receiver.received.length, 120, 'no customer gets a message twice');
    for (const [n, { at }] of times.entries()) {
      const inADay = new Set(
        times
          .slice(0, n + 1)
          .filter((one) => one.at > at - DAY_SECONDS * 1000)
          .map(({ to }) => to),
      );
      assert.ok(inADay.size <= 60, 'never more than 60 in 24 hours');
    }
  });
});

onEachEngine('messages to one customer', (engine) => {
  const workers = useWorkers(engine);

  it('stay in order, even after failures', async () => {
    const { receiver, first } = workers;
    const accepted = new Map<string, string[]>();
    const calls = new Map<string, number>();
    receiver.answer = (response, received) => {
      const { content } = received.json.data;
      calls.set(content, (calls.get(content) ?? 0) + 1);
      // A message that was never accepted would be given up after ten attempts.
      const random = calls.get(content)! < 8 ? Math.random() : 1;
      if (random < 0.15) return void response.writeHead(503).end();
      if (random < 0.25) return void response.writeHead(429, { 'retry-after': '7' }).end();
      const list = accepted.get(recipientOf(received)) ?? [];
      accepted.set(recipientOf(received), list);
      if (!list.includes(content)) list.push(content);
      // Accepted, but the response is lost.
      if (random < 0.35) return void response.destroy();
      response.writeHead(204).end();
    };
    await workers.put(
      range(0, 120).map((n) => ({ recipient: phone(n % 10), content: `No. ${n}`, mode: 'reply' as const })),
    );
    const open = async () =>
      (await first.database.one<{ open: number }>(
        `select count(*) as open from deliveries where state <> 'sent'`,
      ))!.open;
    for (let n = 0; n < 200 && (await open()) > 0; n += 1) await workers.later(2 * DAY_SECONDS);
    assert.equal(await open(), 0);
    for (const customer of range(0, 10)) {
      const inOrder = range(0, 12).map((n) => `No. ${n * 10 + customer}`);
      assert.deepEqual(accepted.get(phone(customer)), inOrder);
    }
  });

  it('do not keep the worker busy while they wait for an earlier one', async () => {
    const { receiver, first, all } = workers;
    receiver.answer = (response) => response.writeHead(503, { 'retry-after': '600' }).end();
    await workers.put(
      range(0, 3).map((n) => ({ recipient: phone(1), content: `Late ${n}`, mode: 'reply' as const })),
    );
    await workers.later(0);
    let claims = 0;
    for (const { database } of all) {
      const read = database.all;
      database.all = (sql, params) => {
        if (sql.includes('order by due_at, merchant_id, endpoint_id')) claims += 1;
        return read(sql, params);
      };
    }
    const startedAt = performance.now();
    await sleep(2500);
    assert.ok(claims > 0, 'the polls are counted');
    // Each worker polls every two seconds. An earlier version polled two hundred times a second.
    const claimsMax = all.length * ((performance.now() - startedAt) / 2000 + 1);
    assert.ok(claims <= claimsMax, `${claims} polls`);
    receiver.answer = (response) => response.writeHead(204).end();
    for (let n = 0; n < 3; n += 1) await workers.later(601);
    const { left } = (await first.database.one<{ left: number }>(
      `select count(*) as left from deliveries where state <> 'sent'`,
    ))!;
    assert.equal(left, 0);
  });
});

interface Clocked {
  answeredAt: number;
  calledAt: number;
}

/** Answers this many times. Returns the times from each acknowledgement to the call of the channel, sorted. */
async function timeAnswers(deskbell: Deskbell, receiver: Receiver, count: number): Promise<number[]> {
  const token = await deskbell.signIn();
  const times: Clocked[] = [];
  for (let n = 0; n < count; n += 1) {
    const called = new Promise<number>((resolve) => {
      receiver.answer = (response) => {
        resolve(performance.now());
        response.writeHead(204).end();
      };
    });
    const address = `${await raise(deskbell, token)}/answer`;
    const { status } = await deskbell.call('POST', address, { token, body: { answer: `Yes, ${n}.` } });
    assert.equal(status, 200);
    const answeredAt = performance.now();
    times.push({ answeredAt, calledAt: await called });
    await sleep(10);
  }
  return times.map(({ answeredAt, calledAt }) => Math.max(0, calledAt - answeredAt)).sort((a, b) => a - b);
}

const median = (sorted: readonly number[]) => sorted[Math.floor(sorted.length / 2)]!;

onEachEngine('an answer is sent at once', (engine) => {
  const workers = useWorkers(engine);

  it('by its own server', async (t) => {
    const times = await timeAnswers(workers.first, workers.receiver, 15);
    t.diagnostic(`${engine}: p50 ${median(times).toFixed(1)} ms from the 200 to the channel's call`);
    assert.ok(median(times) < 1000);
  });

  it('or by the next poll, if the wake-up signal is lost', async () => {
    const before = workers.receiver.received.length;
    await workers.put([{ recipient: phone(1), content: 'Unannounced', mode: 'reply' }]);
    await until('the poll', () => workers.receiver.received.length > before);
    assert.equal(workers.receiver.received.at(-1)?.json.data.content, 'Unannounced');
  });
});

describe('an answer on a server that does not send', { skip: !engines.includes('postgres') }, () => {
  let testDatabase: TestDatabase;
  let receiver: Receiver;
  let server: Deskbell;
  let worker: Deskbell;
  before(async () => {
    testDatabase = await createDemoDatabase('postgres', 'weak');
    receiver = await startReceiver();
    server = await startDeskbell('postgres', { ...webhookEnv(receiver), WORKER: 'false' }, testDatabase);
    worker = await startDeskbell('postgres', webhookEnv(receiver), testDatabase);
  });
  after(async () => {
    await server?.close();
    await worker?.close();
    await receiver?.close();
    await testDatabase?.remove();
  });

  it('is sent by another worker, which is woken up and does not wait for its next poll', async (t) => {
    const times = await timeAnswers(server, receiver, 15);
    t.diagnostic(`p50 ${median(times).toFixed(1)} ms, the longest ${times.at(-1)!.toFixed(1)} ms`);
    // With polling every two seconds, half of them would take longer than one second.
    assert.ok(median(times) < 500);
  });

  it('is sent even after the worker’s listening connection was cut', async () => {
    await worker.database.all(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'deskbell signals' and datname = current_database()`,
    );
    const [longest] = await timeAnswers(server, receiver, 1);
    assert.ok(longest! < 30_000);
    let usual = Number.POSITIVE_INFINITY;
    // Until the connection is back, each message waits for the next poll, which comes every two seconds.
    for (let tries = 0; tries < 5 && usual > 1000; tries += 1) {
      usual = median(await timeAnswers(server, receiver, 5));
    }
    assert.ok(usual < 1000, `signals do not arrive again: ${usual} ms`);
  });
});
