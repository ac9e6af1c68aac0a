import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import { createListTurns } from './listTurns.ts';

const LIMITS = {
  openMax: 3,
  openPerMerchantMax: 2,
  waitingPerMerchantMax: 2,
  waitMaxMs: 1000,
  undisturbedMs: 100,
  makeRoomEveryMs: 10,
};
const [A, B, C] = [1, 2, 3] as MerchantId[] as [MerchantId, MerchantId, MerchantId];

describe('the turns of large lists', () => {
  /** All places are taken, two by A and one by B. Returns who was interrupted. */
  async function full(limits = LIMITS) {
    const turns = createListTurns(limits);
    const interrupted: MerchantId[] = [];
    for (const merchantId of [A, A, B]) {
      const turn = await turns.take(merchantId);
      turn.interrupt = () => {
        interrupted.push(merchantId);
        turns.end(turn);
      };
    }
    return { turns, interrupted };
  }

  it('a list that was open for long makes room for another merchant, a new one does not', async () => {
    const { turns, interrupted } = await full();
    const waiting = turns.take(C);
    assert.deepEqual(interrupted, []);
    assert.equal((await waiting).merchantId, C);
    assert.deepEqual(interrupted, [A]);
  });

  it('no list makes room for another one of its own merchant', async () => {
    const { turns, interrupted } = await full();
    await sleep(LIMITS.undisturbedMs + 1);
    await turns.take(B);
    assert.deepEqual(interrupted, [A]);
    await assert.rejects(turns.take(B), { code: 'RATE_LIMITED' });
  });

  it('who waits too long, or is one too many, is asked to come back later', async () => {
    const { turns } = await full({ ...LIMITS, waitMaxMs: 50, undisturbedMs: 60_000 });
    const waiting = [turns.take(C), turns.take(C)].map((taken) => taken.catch(({ code }) => code));
    await assert.rejects(turns.take(C), { code: 'RATE_LIMITED' });
    assert.deepEqual(await Promise.all(waiting), ['RATE_LIMITED', 'RATE_LIMITED']);
  });
});
