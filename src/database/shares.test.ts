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
  const take = async (owner: MerchantId | undefined, maxMs = 1000) => {
    const release = await shares.take(owner, maxMs, () => new Error('late'));
    order.push(owner);
    held.push(release);
  };
  return { order, held, take, turn: () => new Promise(setImmediate) };
}

describe('the connections', () => {
  it('are at most half of them one merchant’s, however many it asks for', async () => {
    const { order, held, take, turn } = begin(4);
    for (let n = 0; n < 6; n += 1) void take(aurora);
    await turn();
    assert.deepEqual(order, [aurora, aurora]);
    await take(borealis);
    await take(undefined);
    held[0]!();
    await turn();
    assert.deepEqual(order, [aurora, aurora, borealis, undefined, aurora]);
  });

  it('go first to whoever has the fewest, and then to whoever waits longest', async () => {
    const { order, held, take, turn } = begin(3);
    for (const owner of [undefined, undefined, aurora]) await take(owner);
    for (const owner of [undefined, undefined, borealis]) void take(owner);
    await turn();
    for (const release of held.slice(0, 2)) release();
    await turn();
    assert.deepEqual(order.slice(3), [borealis, undefined]);
  });

  it('are not waited for longer than the caller may', async () => {
    const { order, held, take, turn } = begin(1);
    await take(aurora);
    await assert.rejects(take(borealis, 1), { message: 'late' });
    void take(aurora);
    held[0]!();
    await turn();
    assert.deepEqual(order, [aurora, aurora]);
  });
});
