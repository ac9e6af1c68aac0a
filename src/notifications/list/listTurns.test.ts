import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../contract/ids.ts';
import { createListTurns, type Reader } from './listTurns.ts';

const LIMITS = {
  openMax: 5,
  openPerMerchantMax: 4,
  openPerUserMax: 2,
  waitingPerUserMax: 2,
  waitMaxMs: 1000,
  undisturbedMs: 100,
  makeRoomEveryMs: 10,
};
const reader = (merchantId: number, userId: number): Reader => ({
  merchantId: merchantId as MerchantId,
  callerId: `user:${userId}`,
});
/** Two colleagues, and two other merchants. */
const [ANN, BOB, CLEO, DAN] = [reader(1, 1), reader(1, 2), reader(2, 3), reader(3, 4)];

describe('the turns of large lists', () => {
  /** These readers have open lists. Returns who was interrupted. */
  async function opened(readers: readonly Reader[], limits = LIMITS) {
    const turns = createListTurns(limits);
    const interrupted: Reader[] = [];
    for (const one of readers) {
      const turn = await turns.take(one);
      turn.interrupt = () => {
        interrupted.push(one);
        turns.end(turn);
      };
    }
    return { turns, interrupted };
  }
  const FULL = [ANN, ANN, BOB, BOB, CLEO];

  it('sixteen of one person wait and are all served, and the seventeenth is refused at once', async () => {
    const turns = createListTurns();
    const open = await Promise.all([turns.take(ANN), turns.take(ANN)]);
    const outcomes: string[] = [];
    const waiting = Array.from({ length: 17 }, () =>
      turns.take(ANN).then(
        (turn) => {
          outcomes.push('served');
          turns.end(turn);
        },
        ({ code }) => outcomes.push(code),
      ),
    );
    // At once, and not because it has waited for too long.
    await new Promise(setImmediate);
    assert.deepEqual(outcomes, ['RATE_LIMITED']);
    for (const turn of open) turns.end(turn);
    await Promise.all(waiting);
    assert.deepEqual(outcomes, ['RATE_LIMITED', ...Array(16).fill('served')]);
  });

  it('a list that was open for long makes room for somebody who reads nothing, a new one does not', async () => {
    const { turns, interrupted } = await opened(FULL);
    const waiting = turns.take(DAN);
    assert.deepEqual(interrupted, []);
    assert.equal((await waiting).reader, DAN);
    assert.deepEqual(interrupted, [ANN]);
  });

  it('no list makes room for somebody who reads another one', async () => {
    const { turns, interrupted } = await opened(FULL, { ...LIMITS, waitMaxMs: 200 });
    await sleep(LIMITS.undisturbedMs + 1);
    await assert.rejects(turns.take(CLEO), { code: 'RATE_LIMITED' });
    assert.deepEqual(interrupted, []);
  });

  it('one user leaves half of the merchant’s places to colleagues', async () => {
    const { turns } = await opened([ANN, ANN], { ...LIMITS, waitMaxMs: 50 });
    await assert.rejects(turns.take(ANN), { code: 'RATE_LIMITED' });
    assert.equal((await turns.take(BOB)).reader, BOB);
  });

  it('a place that becomes free goes to whoever has the fewest, not to who waits with the most', async () => {
    const { turns } = await opened([ANN, ANN, CLEO, CLEO], { ...LIMITS, undisturbedMs: 60_000 });
    const last = await turns.take(BOB);
    const order: Reader[] = [];
    const waiting = [BOB, BOB, DAN].map((one) => turns.take(one).then(() => order.push(one)));
    turns.end(last);
    await waiting[2];
    assert.deepEqual(order, [DAN]);
    await Promise.allSettled(waiting);
  });

  it('who waits too long, or is one too many, is asked to come back later', async () => {
    const { turns } = await opened(FULL, { ...LIMITS, waitMaxMs: 50, undisturbedMs: 60_000 });
    const waiting = [turns.take(DAN), turns.take(DAN)].map((taken) => taken.catch(({ code }) => code));
    await assert.rejects(turns.take(DAN), { code: 'RATE_LIMITED' });
    assert.deepEqual(await Promise.all(waiting), ['RATE_LIMITED', 'RATE_LIMITED']);
  });
});
