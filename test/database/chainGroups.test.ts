import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { ChainWithIds } from '../../src/database/chain.ts';
import {
  groupsOn,
  type Item,
  promised,
  SEEN,
  sale,
  shown,
  sizesOf,
  soon,
  stopTime,
} from '../support/groupedSales.ts';

describe('chains that wait at the same moment', () => {
  it('are one statement, and each caller gets what its own gate has found', async () => {
    const { sell, statements } = groupsOn();
    const results = await Promise.all([sell(7, 2), sell(8, 1), sell(7, -5), sell(7, 1)]);
    assert.deepEqual(results.map(shown), ['7/2', '8/1', '', '7/1']);
    assert.equal(statements.length, 1);
  });

  it('are in one order, whatever the order in which they came', async () => {
    const { sell, statements } = groupsOn();
    await Promise.all([sell(8, 1), sell(7, 2), sell(7, 1)]);
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1,7/2,8/1'],
    );
  });

  it('share a statement only if they have the same text', async () => {
    const { run, sell, statements } = groupsOn();
    const look = (item: number) => run(sale({ shop: 7, item }, 'Ana', 0, SEEN), 7);
    await Promise.all([sell(7, 1), look(1), sell(7, 2), look(2)]);
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1,7/2', '7/1,7/2'],
    );
  });

  it('share no statement if they change the same row, but may find the same one', async () => {
    const { run, sell, statements } = groupsOn();
    await Promise.all([sell(7, 1), sell(8, 1), sell(7, 1), sell(7, 1)]);
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1,8/1', '7/1', '7/1'],
    );
    statements.length = 0;
    await Promise.all([1, 1].map((item) => run(sale({ shop: 7, item }, 'Ana', 0, SEEN), 7)));
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1,7/1'],
    );
  });

  it('are at most 16 in a statement, and the next statement takes all that came meanwhile', async (t) => {
    stopTime(t.mock);
    const first = promised();
    const { sell, statements } = groupsOn({
      answer: (_, index) => (index === 0 ? first.promise : undefined),
    });
    const all = [...Array(20).keys()].map((item) => sell(7, item + 1));
    await nextTurn();
    all.push(...[...Array(10).keys()].map((item) => sell(8, item + 1)));
    await nextTurn();
    assert.deepEqual(sizesOf(statements), [16]);
    first.resolve(undefined);
    assert.equal((await Promise.all(all)).flat().length, 30);
    assert.deepEqual(sizesOf(statements), [16, 14]);
  });

  it('do not wait long for a statement that does not end, unless it writes for the same owner', async () => {
    const first = promised();
    const { sell, statements } = groupsOn({
      answer: (_, index) => (index === 0 ? first.promise : undefined),
    });
    const blocked = sell(7, 1);
    await nextTurn();
    const ofSame = sell(7, 2);
    assert.equal(shown(await soon(sell(8, 1))), '8/1');
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1', '8/1'],
    );
    first.resolve(undefined);
    assert.deepEqual((await Promise.all([blocked, ofSame])).map(shown), ['7/1', '7/2']);
  });

  it('leave room for other owners: one that writes much has half of a statement while others wait', async () => {
    const first = promised();
    const { sell, statements } = groupsOn({
      answer: (_, index) => (index === 0 ? first.promise : undefined),
    });
    const all = [...Array(60).keys()].map((item) => sell(7, item + 1));
    await nextTurn();
    const other = sell(8, 1);
    first.resolve(undefined);
    await Promise.all([...all, other]);
    assert.ok(statements[1]!.chains.some(({ shop }) => shop === 8));
    assert.deepEqual(sizesOf(statements), [16, 16, 16, 13]);
  });

  it('with another text wait for their turn, not for ever, if their owner and others go on writing', async (t) => {
    stopTime(t.mock);
    const ended: (() => void)[] = [];
    const { run, sell, statements } = groupsOn({
      answer: (_, index) => new Promise((resolve) => ended.splice(index, 1, () => resolve(undefined))),
    });
    const look = (shop: number, item: number) => run<Item>(sale({ shop, item }, 'Ana', 0, SEEN), shop);
    const all: Promise<unknown>[] = [sell(7, 1), look(8, 1)];
    await nextTurn();
    assert.equal(statements.length, 2, 'one does not wait for another text');
    all.push(look(7, 1), sell(7, 2), look(8, 2));
    // The text of the first is free, but the older of the owner's chains has the other one.
    ended[0]!();
    await nextTurn();
    assert.equal(statements.length, 2);
    ended[1]!();
    await nextTurn();
    assert.equal(shown(statements[2]!.chains), '7/1,8/2');
    ended[2]!();
    await nextTurn();
    await nextTurn();
    assert.equal(shown(statements[3]!.chains), '7/2');
    ended[3]!();
    await Promise.all(all);
  });

  it('run in as many statements as may run, if none of them ends', async () => {
    const first = promised();
    const { sell, statements } = groupsOn({ answer: () => first.promise, runningMax: 2 });
    const all: Promise<Item[]>[] = [];
    for (const shop of [7, 8, 9]) {
      all.push(sell(shop, 1));
      await sleep(50);
    }
    assert.deepEqual(sizesOf(statements), [1, 1]);
    first.resolve(undefined);
    assert.deepEqual((await Promise.all(all)).map(shown), ['7/1', '8/1', '9/1']);
  });

  it('run alone if they have no owner or much to write', async () => {
    const { run, statements, ranAlone } = groupsOn();
    await Promise.all([
      run(sale({ shop: 7, item: 1 })),
      run(sale({ shop: 7, item: 2 }, 'x'.repeat(40_000)), 7),
      run(sale({ shop: 7, item: 3 }), 7),
    ]);
    assert.equal(shown(ranAlone), '7/1,7/2');
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/3'],
    );
  });

  it('that need ids draw them with one statement, and each gets its own', async () => {
    const { run, statements, draws } = groupsOn();
    const built: number[][] = [];
    const withIds = (item: number, count: number): ChainWithIds => ({
      newIds: { sales: count },
      build({ sales = [] }) {
        built.push([...sales]);
        return sale({ shop: 7, item }, `customer of ${item}`, sales[0]!);
      },
    });
    await Promise.all([run(withIds(3, 1), 7), run(withIds(1, 2), 7), run(withIds(2, 1), 7)]);
    assert.deepEqual(draws, [[1, 2, 1]]);
    assert.deepEqual(built, [[1], [2, 3], [4]]);
    assert.equal(statements.length, 1);
    assert.deepEqual(
      statements[0]!.sold.map(({ id, customer }) => [id, customer]),
      [
        [2, 'customer of 1'],
        [4, 'customer of 2'],
        [1, 'customer of 3'],
      ],
    );
  });

  it('that need no ids draw none', async () => {
    const { run, draws } = groupsOn();
    await run({ newIds: {}, build: () => sale({ shop: 7, item: 1 }) }, 7);
    assert.deepEqual(draws, []);
  });
});
