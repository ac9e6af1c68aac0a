import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../src/contract/ids.ts';
import { type Chain, defineChange, defineInsert, type NewIds } from '../../src/database/chain.ts';
import { createChainGroups } from '../../src/database/chainGroups.ts';
import type { Param } from '../../src/database/database.ts';

const SOLD = defineChange({
  do: 'update',
  table: 'stock',
  columns: { merchant_id: 'bigint', id: 'bigint' },
  set: 'pieces = stock.pieces - 1',
  where: 'stock.id = r.id',
});
export const SEEN = defineChange({
  do: 'find',
  table: 'stock',
  columns: { merchant_id: 'bigint', id: 'bigint' },
  where: 'stock.id = r.id',
});
const SALE = defineInsert({
  table: 'sales',
  columns: { id: 'bigint', merchant_id: 'bigint', customer: 'text' },
});

export interface Item {
  shop: number;
  item: number;
}

export const sale = ({ shop, item }: Item, customer = 'Ana', id = 0, shape = SOLD): Chain => ({
  gate: { shape, values: [{ merchant_id: shop as MerchantId, id: item }] },
  steps: [{ shape: SALE, values: [{ id, merchant_id: shop as MerchantId, customer }] }],
});

export class Refused extends Error {}
export class Locked extends Error {}

export type Statement = { chains: Item[]; sold: { id: number; customer: string }[] };

/** Groups on a server that is told how it answers each statement. By default every gate finds its row. */
export function groupsOn({
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

export const sizesOf = (statements: readonly Statement[]) => statements.map(({ chains }) => chains.length);
export const shown = (rows: Item[]) => rows.map(({ shop, item }) => `${shop}/${item}`).join();

/** Nothing, if it takes longer than a second. Time in which this process does not run does not count. */
export const soon = (rows: Promise<Item[]>) => Promise.race([rows, nothingAfterASecond()]);

async function nothingAfterASecond(): Promise<Item[]> {
  for (let n = 0; n < 100; n += 1) await sleep(10);
  return [];
}

/**
 * Until the end of the test every statement has just begun, however slow the machine is. Otherwise one that takes longer
 * than 20 ms no longer keeps the next one waiting.
 */
export function stopTime(mock: TestContext['mock']): void {
  const now = performance.now();
  mock.method(performance, 'now', () => now);
}

/** A promise, and how to keep it or break it. */
export const promised = () => Promise.withResolvers<undefined>();
