import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Chain, ChainWithIds } from '../../src/database/chain.ts';
import { createChainGroups } from '../../src/database/chainGroups.ts';
import { DeadlinePassed, runWithDeadline } from '../../src/database/deadline.ts';
import {
  groupsOn,
  type Item,
  Locked,
  promised,
  Refused,
  sale,
  shown,
  soon,
} from '../support/groupedSales.ts';

describe('a statement of several chains that fails', () => {
  const fails = (error: Error) => Promise.reject(error);

  it('because the server refuses it is run again, one chain at a time: only the refused one fails', async () => {
    const { sell, ranAlone } = groupsOn({
      answer: ({ chains }) => (chains.length > 1 ? fails(new Refused()) : undefined),
      alone: (item) => (item.item === 2 ? fails(new Refused('sold out')) : Promise.resolve([item])),
    });
    const results = await Promise.allSettled([sell(7, 1), sell(7, 2), sell(8, 3)]);
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? shown(result.value) : result.reason.message)),
      ['7/1', 'sold out', '8/3'],
    );
    assert.equal(shown(ranAlone), '7/1,7/2,8/3');
  });

  it('because the server refuses it holds up no other owner, if one of its chains then takes long', async () => {
    const slow = promised();
    const { sell } = groupsOn({
      runningMax: 1,
      answer: ({ chains }) => (chains.length > 1 ? fails(new Refused()) : undefined),
      async alone(item) {
        if (item.shop === 7) await slow.promise;
        return [item];
      },
    });
    const blocked = sell(7, 1);
    assert.equal(shown(await sell(8, 1)), '8/1');
    assert.equal(shown(await soon(sell(8, 2))), '8/2');
    slow.resolve(undefined);
    assert.equal(shown(await blocked), '7/1');
  });

  it('for another reason is not run again: it may have been written', async () => {
    const { sell, statements, ranAlone } = groupsOn({ answer: () => fails(new Error('lost')) });
    const results = await Promise.allSettled([sell(7, 1), sell(8, 2)]);
    assert.deepEqual(
      results.map((result) => result.status),
      ['rejected', 'rejected'],
    );
    assert.deepEqual([statements.length, ranAlone.length], [1, 0]);
  });

  it('because of a lock makes only the owner of the locked row wait, one chain after another', async () => {
    const unlocked = promised();
    const { sell, statements, ranAlone } = groupsOn({
      answer: ({ chains }) => (chains.some(({ shop }) => shop === 8) ? fails(new Locked()) : undefined),
      async alone(item) {
        await unlocked.promise;
        return [item];
      },
    });
    const [first, other] = [sell(8, 1), sell(7, 1)];
    assert.equal(shown(await other), '7/1');
    const later = [sell(8, 2), sell(7, 2), sell(8, 3)] as const;
    assert.equal(shown(await later[1]), '7/2');
    // The group, each of it alone, and the other owner's: nobody tries the locked owner's again.
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1,8/1', '7/1', '8/1', '7/2'],
    );
    assert.equal(shown(ranAlone), '8/1', 'the second waits for the first');
    unlocked.resolve(undefined);
    assert.deepEqual((await Promise.all([first, later[0], later[2]])).map(shown), ['8/1', '8/2', '8/3']);
    assert.equal(shown(ranAlone), '8/1,8/2,8/3');
  });

  it('because of a lock is split by owner: the one whose row is locked needs one connection', async () => {
    const { sell, statements } = groupsOn({
      answer: ({ chains }) => (chains.some(({ shop }) => shop === 8) ? fails(new Locked()) : undefined),
    });
    await Promise.all([sell(8, 1), sell(8, 2), sell(8, 3), sell(7, 1)]);
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1,8/1,8/2,8/3', '7/1', '8/1,8/2,8/3'],
    );
  });

  it('because of a lock is not tried again with chains that came before that was known', async () => {
    const [failing, unlocked] = [promised(), promised()];
    const { sell, statements } = groupsOn({
      answer: ({ chains }) => (chains.some(({ shop }) => shop === 8) ? failing.promise : undefined),
      async alone(item) {
        await unlocked.promise;
        return [item];
      },
    });
    const first = sell(8, 1);
    await nextTurn();
    const second = sell(8, 2);
    await nextTurn();
    failing.reject(new Locked());
    assert.equal(shown(await sell(7, 1)), '7/1');
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['8/1', '7/1'],
    );
    unlocked.resolve(undefined);
    assert.deepEqual((await Promise.all([first, second])).map(shown), ['8/1', '8/2']);
  });

  it('because of a lock that is held for too long fails all of its owner, who can write again afterwards', async () => {
    const isOver = promised();
    let isLocked = true;
    const { sell, ranAlone } = groupsOn({
      answer: () => (isLocked ? fails(new Locked()) : undefined),
      async alone() {
        await isOver.promise;
        throw new Error('timeout');
      },
    });
    const first = sell(8, 1);
    while (ranAlone.length === 0) await nextTurn();
    const all = Promise.allSettled([first, sell(8, 2), sell(8, 3)]);
    isOver.resolve(undefined);
    assert.deepEqual(
      (await all).map((result) => result.status),
      ['rejected', 'rejected', 'rejected'],
    );
    assert.equal(shown(ranAlone), '8/1', 'the others would wait just as long');
    isLocked = false;
    assert.equal(shown(await sell(8, 4)), '8/4');
  });

  it('to draw ids fails those that need them', async () => {
    const run = createChainGroups({
      query: async () => [],
      runAlone: async () => [],
      draw: () => fails(new Error('no ids')),
      refusalOf: () => undefined,
      runningMax: 1,
    });
    const build = () => sale({ shop: 7, item: 1 });
    await assert.rejects(run({ newIds: { sales: 1 }, build }, 7), { message: 'no ids' });
  });

  it('to be built fails alone', async () => {
    const { run } = groupsOn();
    const needingIds = (build: () => Chain) => run<Item>({ newIds: { sales: 1 }, build }, 7);
    const results = await Promise.allSettled([
      needingIds(() => sale({ shop: 7, item: 1 })),
      needingIds(() => {
        throw new Error('no chain');
      }),
    ]);
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? shown(result.value) : result.reason.message)),
      ['7/1', 'no chain'],
    );
  });
});

describe('a chain whose caller no longer waits', () => {
  it('is not run', async () => {
    const first = promised();
    const { sell, statements } = groupsOn({ runningMax: 1, answer: () => first.promise });
    const running = sell(7, 1);
    await nextTurn();
    const late = runWithDeadline({ endsAtMs: performance.now() + 30 }, () => sell(7, 2));
    const patient = sell(7, 3);
    await assert.rejects(late, DeadlinePassed);
    first.resolve(undefined);
    await Promise.all([running, patient]);
    assert.deepEqual(
      statements.map(({ chains }) => shown(chains)),
      ['7/1', '7/3'],
    );
  });

  it('is not run alone either, after its group was refused', async () => {
    const refused = promised();
    const { sell, ranAlone } = groupsOn({ answer: () => refused.promise });
    const late = runWithDeadline({ endsAtMs: performance.now() + 20 }, () => sell(7, 1));
    const patient = sell(8, 1);
    await assert.rejects(late, DeadlinePassed);
    refused.reject(new Refused());
    await patient;
    assert.equal(shown(ranAlone), '8/1');
  });

  it('is not run alone either, if its ids came too late', async () => {
    const ids = promised();
    let ran = 0;
    const run = createChainGroups({
      query: async () => [],
      async runAlone() {
        ran += 1;
        return [];
      },
      async draw() {
        await ids.promise;
        return [{ sales: [1] }];
      },
      refusalOf: () => undefined,
      runningMax: 1,
    });
    const large: ChainWithIds = {
      newIds: { sales: 1 },
      build: () => sale({ shop: 7, item: 1 }, 'x'.repeat(40_000)),
    };
    const late = runWithDeadline({ endsAtMs: performance.now() + 30 }, () => run(large, 7));
    await assert.rejects(late, DeadlinePassed);
    ids.resolve(undefined);
    await nextTurn();
    assert.equal(ran, 0);
  });
});
