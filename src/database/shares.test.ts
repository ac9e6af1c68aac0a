import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MerchantId } from '../contract/ids.ts';
import { createShares, type Release } from './shares.ts';

const [aurora, borealis] = [1, 2] as MerchantId[];

/** Connections, and who has got one so far. */
function begin(max: number) {
  const shares = createShares(max);
  const order: (MerchantId | undefined)[] = [];
  const held: Release[] = [];
  const take = async (owner: MerchantId | undefined, maxMs = 60_000) => {
    const release = await shares.take(owner, maxMs, () => new Error('late'));
    order.push(owner);
    held.push(release);
  };
  /** Gives back what there is until all have had one. */
  const end = async (taking: readonly Promise<void>[]) => {
    for (let n = 0; n < held.length; n += 1) {
      held[n]!();
      await turn();
    }
    await Promise.all(taking);
  };
  const turn = () => new Promise(setImmediate);
  return { order, held, take, turn, end };
}

describe('the connections', () => {
  it('are at most half of them one merchant’s, however many it asks for', async () => {
    const { order, held, take, turn, end } = begin(4);
    const taking = Array.from({ length: 6 }, () => take(aurora));
    await turn();
    assert.deepEqual(order, [aurora, aurora]);
    await take(borealis);
    await take(undefined);
    held[0]!();
    await turn();
    assert.deepEqual(order, [aurora, aurora, borealis, undefined, aurora]);
    await end(taking);
  });

  it('go first to whoever has the fewest, and then to whoever waits longest', async () => {
    const { order, held, take, turn, end } = begin(3);
    for (const owner of [undefined, undefined, aurora]) await take(owner);
    const taking = [undefined, undefined, borealis].map((owner) => take(owner));
    await turn();
    for (const release of held.slice(0, 2)) release();
    await turn();
    assert.deepEqual(order.slice(3), [borealis, undefined]);
    await end(taking);
  });

  it('are not waited for longer than the caller may', async () => {
    const { order, held, take } = begin(1);
    await take(aurora);
    await assert.rejects(take(borealis, 1), { message: 'late' });
    const next = take(aurora);
    held[0]!();
    await next;
    assert.deepEqual(order, [aurora, aurora]);
  });
});
