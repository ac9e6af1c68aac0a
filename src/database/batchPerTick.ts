import { setImmediate as nextTick } from 'node:timers/promises';

/** A larger statement would block the event loop, and its callers, longer than it saves. */
const BATCH_MAX = 16;

interface Batch<Item, Result> {
  items: Item[];
  results: Promise<readonly Result[]>;
}

/**
 * Runs `work` once for all items of one turn of the event loop, instead of once for each. `work` starts after all of
 * them came, so nobody gets an outdated result, and gives a result for each item, in order.
 */
export function batchPerTick<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let open: Batch<Item, Result> | undefined;

  const begin = (): Batch<Item, Result> => {
    const run = async () => {
      await nextTick();
      if (open === batch) open = undefined;
      return work(batch.items);
    };
    const batch: Batch<Item, Result> = { items: [], results: run() };
    return batch;
  };

  return async (item) => {
    open ??= begin();
    const { items, results } = open;
    const index = items.push(item) - 1;
    if (items.length === BATCH_MAX) open = undefined;
    return (await results)[index]!;
  };
}
