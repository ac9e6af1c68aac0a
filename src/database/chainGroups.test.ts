import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import { type Chain, type ChainWithIds, defineChange, defineInsert, type NewIds } from './chain.ts';
import { createChainGroups } from './chainGroups.ts';
import type { Param } from './database.ts';
import { DeadlinePassed, runWithDeadline } from './deadline.ts';

const SOLD = defineChange({
  do: 'update',
  table: 'stock',
  columns: { merchant_id: 'bigint', id: 'bigint' },
  set: 'pieces = stock.pieces - 1',
  where: 'stock.id = r.id',
});
const SEEN = defineChange({
  do: 'find',
  table: 'stock',
  columns: { merchant_id: 'bigint', id: 'bigint' },
  where: 'stock.id = r.id',
});
const SALE = defineInsert({
  table: 'sales',
  columns: { id: 'bigint', merchant_id: 'bigint', customer: 'text' },
});

interface Item {
  shop: number;
  item: number;
}

const sale = ({ shop, item }: Item, customer = 'Ana', id = 0, shape = SOLD): Chain => ({
  gate: { shape, values: [{ merchant_id: shop as MerchantId, id: item }] },
  steps: [{ shape: SALE, values: [{ id, merchant_id: shop as MerchantId, customer }] }],
});

class Refused extends Error {}
class Locked extends Error {}

type Statement = { chains: Item[]; sold: { id: number; customer: string }[] };

/** Groups on a server that is told how it answers each statement. By default every gate finds its row. */
function groupsOn({
  answer = () => undefined,
  alone = async (item) => [{ shop: item.shop, item: item.item, alone: true }],
  runningMax = 2,
}: {
  answer?: (statement: Statement, index: number) => Promise<unknown> | undefined;
  alone?: (item: Item) => Promise<unknown[]>;
  runningMax?: number;
} = {}) {
  const statements: Statement[] = [];
  const ranAlone: Item[] = [];
  const draws: number[][] = [];
  let lastId = 0;
  const itemOf = ({ merchant_id: shop, id: item }: { merchant_id: number; id: number }) => ({ shop, item });
  const run = createChainGroups({
    async query<Row>(_sql: string, params: readonly Param[]) {
      const [gates, sold] = params.map((param) => JSON.parse(String(param)));
      const statement = { chains: gates.map(itemOf), sold };
      await answer(statement, statements.push(statement) - 1);
      // Not in the order of the chains.
      return gates
        .map((row: { chain: number; merchant_id: number; id: number }) => ({
          chain: row.chain,
          ...itemOf(row),
        }))
        .filter(({ item }: Item) => item > 0)
        .reverse() as Row[];
    },
    async runAlone<Row>({ gate }: Chain) {
      const item = itemOf(gate!.values[0] as never);
      ranAlone.push(item);
      return (await alone(item)) as Row[];
    },
    async draw(wanted): Promise<NewIds[]> {
      draws.push(wanted.map(({ sales }) => sales!));
      return wanted.map(({ sales = 0 }) => ({ sales: Array.from({ length: sales }, () => ++lastId) }));
    },
    refusalOf: (error) =>
      error instanceof Refused ? 'refused' : error instanceof Locked ? 'locked' : undefined,
    runningMax,
  });
  const sell = (shop: number, item: number) => run<Item>(sale({ shop, item }), shop);
  return { run, sell, statements, ranAlone, draws };
}

const sizesOf = (statements: readonly Statement[]) => statements.map(({ chains }) => chains.length);
const shown = (rows: Item[]) => rows.map(({ shop, item }) => `${shop}/${item}`).join();

/** Nothing, if it takes longer than a second. */
const soon = (rows: Promise<Item[]>) => Promise.race([rows, sleep(1000, [] as Item[])]);

/** A promise, and how to keep it or break it. */
const promised = () => Promise.withResolvers<undefined>();

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

  it('are at most 16 in a statement, and the next statement takes all that came meanwhile', async () => {
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

  it('do not wait for a statement with another text', async () => {
    const first = promised();
    const { run, sell, statements } = groupsOn({
      answer: (_, index) => (index === 0 ? first.promise : undefined),
    });
    const blocked = sell(7, 1);
    await nextTurn();
    const others = run(sale({ shop: 8, item: 1 }, 'Ana', 0, SEEN), 8);
    await nextTurn();
    assert.equal(statements.length, 2);
    first.resolve(undefined);
    await Promise.all([blocked, others]);
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

  it('with another text wait for their turn, not for ever, if their owner and others go on writing', async () => {
    const ended: (() => void)[] = [];
    const { run, sell, statements } = groupsOn({
      answer: (_, index) => new Promise((resolve) => ended.splice(index, 1, () => resolve(undefined))),
    });
    const look = (shop: number, item: number) => run<Item>(sale({ shop, item }, 'Ana', 0, SEEN), shop);
    const all: Promise<unknown>[] = [sell(7, 1), look(8, 1)];
    await nextTurn();
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
