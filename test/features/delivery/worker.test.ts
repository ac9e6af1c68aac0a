import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { DatabaseUnavailable } from '../../../src/database/database.ts';
import {
  type Channel,
  DOUBLING_PAUSES_SECONDS,
  type SendResult,
} from '../../../src/delivery/channels/channel.ts';
import { claimOf } from '../../../src/delivery/queue/claim.ts';
import { createTracer } from '../../../src/telemetry/tracer.ts';
import { webhookEnv } from '../../support/receiver.ts';
import { enqueue, makeQueuesDue, PHONE, type Sending, startSending, TEXT } from '../../support/sending.ts';
import { type Deskbell, onEachEngine, raise, startSecondServer } from '../../support/server.ts';
import { AURORA_ID, accept, until, useReceiver } from '../../support/shops.ts';

const SENT: SendResult = { outcome: 'sent', messageId: undefined, state: 'sent' };
const away = () => Promise.reject(new DatabaseUnavailable('away'));

onEachEngine('a worker with problems', (engine) => {
  let sending: Sending;
  let sent: string[] = [];
  let plan: Channel['plan'];
  let result: () => SendResult;
  const attempts: string[] = [];
  const spans: string[] = [];
  const retryPausesSeconds = DOUBLING_PAUSES_SECONDS;
  before(async () => {
    sending = await startSending(engine, {
      onAttempt: (_channel, _outcome, code) => attempts.push(code),
      tracer: createTracer({ sampler: 'always_on', samplerRatio: 1 }, (span) =>
        spans.push(JSON.stringify(span)),
      ),
      channel: () => ({
        id: 'test:1',
        type: { name: 'webhook', isRemote: true, reportsStatus: false, retryPausesSeconds },
        plan: (message) => plan(message),
        async send({ key }) {
          sent.push(key);
          return result();
        },
        check: async () => undefined,
      }),
    });
    sending.clock.stop();
  });
  after(() => sending?.close());
  beforeEach(() => {
    sent = [];
    plan = async () => ({ go: 'text' });
    result = () => SENT;
  });
  let lines = 0;
  /** Each message goes to a different customer. */
  const put = () => sending.put(AURORA_ID, { recipient: `+3545550${++lines + 100}` });

  it('does not send a message if its lease leaves too little time', async () => {
    let plans = 0;
    plan = async () => {
      plans += 1;
      // The database was slow: eight of twenty seconds are left, and an attempt may need twelve.
      if (plans === 1) sending.clock.jump(12);
      return { go: 'text' };
    };
    const id = await put();
    await sending.settle();
    const { state, attempts, key } = await sending.row(id);
    assert.deepEqual([state, attempts, sent], ['sent', 1, [key]]);
    assert.equal(plans, 2, 'it was claimed again');
  });

  it('releases messages that failed before the attempt: nothing was sent', async () => {
    plan = () => {
      plan = async () => ({ go: 'text' });
      return away();
    };
    const id = await put();
    await sending.settle();
    const { state, attempts, due_at } = await sending.row(id);
    assert.deepEqual([state, attempts, sent.length], ['queued', 0, 0]);
    assert.ok(Date.parse(due_at) - sending.clock.now().getTime() <= 5000);
    await sending.settle(5);
    assert.equal((await sending.row(id)).state, 'sent');
  });

  it('stores the outcome as soon as the database is back, and does not send twice', async () => {
    const { database } = sending;
    const { transaction } = database;
    result = () => {
      let times = 2;
      database.transaction = () => {
        times -= 1;
        if (times === 0) database.transaction = transaction;
        return away();
      };
      return SENT;
    };
    const id = await put();
    await sending.settle();
    assert.deepEqual([(await sending.row(id)).state, sent.length], ['sent', 1]);
  });

  it('ignores an outcome from a worker that has lost its lease to another', async () => {
    const { database, clock } = sending;
    const answered = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    plan = async () => {
      begun.resolve();
      await answered.promise;
      return { wait: 'customer', reason: 'outdated' };
    };
    const id = await put();
    await begun.promise;
    const at = new Date(clock.now().getTime() + 25_000);
    const leaseUntil = new Date(at.getTime() + 20_000);
    const turn = { channelId: 'test:1', reportsStatus: () => false, max: 1, campaignsMax: 1, at, leaseUntil };
    const { claimed } = await claimOf(database, { merchant_id: AURORA_ID, endpoint_id: 0 }, turn);
    assert.deepEqual([claimed[0]?.id, claimed[0]?.attempts], [id, 2]);
    plan = async () => ({ go: 'text' });
    answered.resolve();
    await sending.settle();
    const { state, due_at } = await sending.row(id);
    assert.deepEqual([state, due_at], ['sending', leaseUntil.toISOString()]);
    await sending.settle(50);
    assert.equal((await sending.row(id)).state, 'sent');
  });

  it('marks a message as failed if its outcomes stay unknown', async () => {
    result = () => ({ outcome: 'unknown', code: 'TIMEOUT' });
    const id = await put();
    for (let n = 0; n < 17; n += 1) await sending.settle(2 * 3600);
    const { state, attempts, reason } = await sending.row(id);
    assert.deepEqual([state, attempts, sent.length], ['failed', 16, 16]);
    assert.match(reason!, /it is unknown whether it arrived/);
  });

  it('does not look more often while the database refuses statements', async () => {
    const { database, worker } = sending;
    const { run, transaction } = database;
    result = () => ({ outcome: 'retry', code: 'HTTP_503', afterSeconds: 600 });
    const id = await put();
    await sending.settle();
    const past = new Date(0);
    await run('update deliveries set due_at = $2 where id = $1', [id, past.toISOString()]);
    let looks = 0;
    const refuse = () => {
      looks += 1;
      return away();
    };
    Object.assign(database, { run: refuse, transaction: refuse });
    await makeQueuesDue({ ...database, run }, past);
    const startedAt = performance.now();
    worker.wake();
    // Every two seconds, after the first ones for the signal. An earlier version did so two hundred times a second.
    await until('it looks again', () => looks > 2);
    Object.assign(database, { run, transaction });
    assert.ok(performance.now() - startedAt > 1000);
    await run(`update deliveries set state = 'failed' where id = $1`, [id]);
  });

  it('shows only known codes in metrics and traces, because a channel could use any text as its code', async () => {
    for (const [code, shown] of [
      ['ECONNRESET', 'ECONNRESET'],
      ['HTTP_503', 'HTTP_503'],
      ['131026', '131026'],
      ['3545550199', 'other'],
      ['ETIMEDOUT_3545550199', 'other'],
      ['ANNA', 'other'],
    ] as const) {
      attempts.length = 0;
      spans.length = 0;
      result = () => ({ outcome: 'failed', code, reason: 'It failed.' });
      await put();
      await sending.settle();
      assert.deepEqual(attempts, [shown]);
      const [span] = spans.filter((text) => text.includes('"send webhook"'));
      assert.match(span!, new RegExp(`"key":"error.type","value":{"stringValue":"${shown}"}`));
      if (shown === 'other') assert.ok(!spans.join().includes(code));
    }
  });
});

onEachEngine('a worker is woken up', (engine) => {
  // On PostgreSQL the server that is asked does not send: another one does.
  const isAlone = engine === 'sqlite';
  let sender: Deskbell | undefined;
  // Before the hook that closes the first server.
  after(() => sender?.close());
  const { deskbell, receiver } = useReceiver(engine, isAlone ? {} : { WORKER: 'false' });
  before(async () => {
    if (!isAlone) sender = await startSecondServer(deskbell, webhookEnv(receiver));
  });

  /** With polls alone, each message but the first comes two seconds after the one before it. */
  async function assertSentAtOnce(): Promise<void> {
    const token = await deskbell.signIn();
    const tookMs: number[] = [];
    // A busy machine is late only sometimes.
    do {
      const called = new Promise<number>((resolve) => {
        receiver.answer = (...call) => {
          resolve(performance.now());
          accept(...call);
        };
      });
      const address = `${await raise(deskbell, token)}/answer`;
      await deskbell.call('POST', address, { token, body: { answer: 'Yes.' } });
      const answeredAt = performance.now();
      tookMs.push((await called) - answeredAt);
    } while (tookMs.length < 2 || (tookMs.length < 20 && tookMs.at(-1)! > 1000));
    assert.ok(tookMs.at(-1)! <= 1000, `the answers took ${tookMs.join(', ')} ms`);
  }

  it('by each answer', assertSentAtOnce);

  it('by its next poll, if the signal is lost', async () => {
    const before = receiver.received.length;
    const message = { notificationId: 1, conversationId: 1, recipient: PHONE, content: TEXT } as const;
    await deskbell.database.transaction((tx) =>
      enqueue(tx, AURORA_ID, { ...message, mode: 'reply', at: deskbell.clock.now() }),
    );
    await until('the poll', () => receiver.received.length > before);
  });

  it('even after the connection on which it listens was cut', { skip: isAlone }, async () => {
    await sender!.database.all(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'deskbell signals' and datname = current_database()`,
    );
    await assertSentAtOnce();
  });
});
