import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Database, Param } from '../../../src/database/database.ts';
import { createBreaker } from '../../../src/delivery/worker/breaker.ts';
import { UNTIL_RESUMED } from '../../../src/delivery/worker/stops.ts';
import type { Runner } from '../../../src/jobs/runner.ts';
import { onEachEngine } from '../../support/server.ts';
import {
  AURORA_ID,
  accept,
  BOREALIS_ID,
  hang,
  phoneOf,
  putAll,
  range,
  startWorkerWithTimeout,
  until,
  useReceiver,
} from '../../support/shops.ts';

const TIMEOUT_MS = 300;
/** A response is never that late, no matter how busy the machine is. */
const ANSWERED_TIMEOUT_MS = 60_000;
/** At most four calls at once, so up to three more are in flight when the fifth times out. */
const CALLS_MAX = 8;

onEachEngine('the circuit breaker of a channel', (engine) => {
  /** Two on PostgreSQL, which share only the database, like two servers. */
  const workers: Runner[] = [];
  let timeoutMs = TIMEOUT_MS;
  // Before the hook that closes the database.
  after(async () => {
    for (const worker of workers) await worker.stop();
  });
  const { deskbell, receiver } = useReceiver(engine, { WORKER: 'false' });
  before(() => {
    for (const _ of range(0, engine === 'postgres' ? 2 : 1))
      workers.push(startWorkerWithTimeout(deskbell, () => timeoutMs));
  });
  const answerNothing = () => {
    timeoutMs = TIMEOUT_MS;
    receiver.answer = hang;
  };
  const answerAll = () => {
    timeoutMs = ANSWERED_TIMEOUT_MS;
    receiver.answer = accept;
  };
  const put = (count: number, from: number, merchantId = AURORA_ID) =>
    putAll(
      deskbell,
      range(0, count).map((n) => ({ merchantId, recipient: phoneOf(from + n) })),
    );

  const idle = async () => {
    for (let n = 0; n < 2; n += 1) await Promise.all(workers.map((worker) => worker.idle()));
  };
  const channel = async () =>
    (await deskbell.call('GET', '/api/v1/channel', { token: await deskbell.signIn() })).json;
  const breakersOpen = async () =>
    Number(/^deskbell_channel_breaker_open (\d+)/m.exec((await deskbell.call('GET', '/metrics')).text)?.[1]);
  const count = async (sql: string) => (await deskbell.database.one<{ count: number }>(sql))!.count;
  /** Attempts, not what the receiver got: on a busy machine a call may time out before it arrives. */
  const calls = () => count('select cast(coalesce(sum(attempts), 0) as bigint) as count from deliveries');
  const unsent = () => count(`select count(*) as count from deliveries where state <> 'sent'`);
  /** Seconds until the next probe. The clock is stopped. */
  const probeIn = async () => (Date.parse((await channel()).until) - deskbell.clock.now().getTime()) / 1000;

  it('opens after five time-outs in a row, and reports it', async () => {
    assert.equal(await breakersOpen(), 0);
    answerNothing();
    await put(20, 0);
    await until('the breaker is open', async () => (await breakersOpen()) === 1);
    await idle();
    const made = await calls();
    assert.ok(made >= 5 && made <= CALLS_MAX * workers.length, `${made} calls`);
    const { state, code, since } = await channel();
    assert.deepEqual([state, code, since], ['not_answering', 'TIMEOUT', deskbell.clock.now().toISOString()]);
    assert.equal(await probeIn(), 5, 'calls that were already in flight are not probes');
  });

  it('lets no message through while it is open, not even from other merchants, but single probes ever later', async () => {
    await put(1, 100, BOREALIS_ID);
    for (const [seconds, probes, next] of [
      [4, 0, 1],
      [1, 1, 10],
      [10, 1, 20],
    ] as const) {
      const before = await calls();
      await deskbell.clock.advance(seconds);
      for (const worker of workers) worker.wake();
      await until('the probe has timed out', async () => (await probeIn()) === next);
      await idle();
      assert.equal(await calls(), before + probes);
      assert.equal((await channel()).state, 'not_answering');
    }
  });

  it('closes after the first response, and all queued messages are sent at once', async () => {
    answerAll();
    const before = receiver.received.length;
    await deskbell.clock.advance(20);
    await idle();
    assert.deepEqual([(await channel()).state, await breakersOpen()], ['ok', 0]);
    // The clock does not move. Only the messages of the two probes wait for their next attempt.
    await until('the queue is empty', async () => (await unsent()) <= 2);
    await deskbell.clock.advance(3600);
    await idle();
    assert.equal(await unsent(), 0);
    assert.equal(receiver.received.length - before, 21, 'each once');
    // It opens again only after five new time-outs.
    answerNothing();
    const made = await calls();
    await put(4, 200);
    await until('four calls', async () => (await calls()) === made + 4);
    await idle();
    assert.equal((await channel()).state, 'ok');
  });

  it('does not forget a stop that was written while it read the state of all channels', async () => {
    const { database, clock } = deskbell;
    const reading = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow: Database = {
      ...database,
      async all<Row>(sql: string, params?: readonly Param[]) {
        const rows = await database.all<Row>(sql, params);
        reading.resolve();
        await goOn.promise;
        return rows;
      },
    };
    const log = { info() {}, warn() {} } as never;
    const breaker = createBreaker({ database: slow, log, now: clock.now });
    const refreshing = breaker.refresh();
    await reading.promise;
    await breaker.stop('webhook:999', 'HTTP_410', true);
    goOn.resolve();
    await refreshing;
    assert.deepEqual(await breaker.gate('webhook:999'), { until: UNTIL_RESUMED });
  });
});
