import { setImmediate as nextTurn } from 'node:timers/promises';

/** Beyond that a statement would hold the event loop, and its askers, longer than it saves. */
const AT_ONCE_MAX = 16;
/** Where the database is slow, whoever waits for others must still get an answer in time. */
const TURN_MAX_MS = 200;

interface Batch<Item, Outcome> {
  items: Item[];
  outcomes: Promise<readonly Outcome[]>;
}

/**
 * Does at once what is asked for in one turn of the event loop: a busy server then spends on its way to the
 * database and back a fraction of what single statements cost it. `work` begins after every one of its askers
 * has asked, so none is told of anything older, and gives an outcome for each, in their order. With `inTurn`
 * it begins only after the one before has ended, as those that write to the same rows would wait there.
 */
export function together<Item, Outcome>(
  work: (items: readonly Item[]) => Promise<readonly Outcome[]>,
  { inTurn = false } = {},
): (item: Item) => Promise<Outcome> {
  let open: Batch<Item, Outcome> | undefined;
  let last: Promise<unknown> | undefined;

  const begin = (): Batch<Item, Outcome> => {
    const before = last;
    const run = async () => {
      await nextTurn();
      if (before) await endOf(before);
      if (open === batch) open = undefined;
      return work(batch.items);
    };
    const batch: Batch<Item, Outcome> = { items: [], outcomes: run() };
    if (inTurn) last = batch.outcomes;
    return batch;
  };

  return async (item) => {
    open ??= begin();
    const { items, outcomes } = open;
    const place = items.push(item) - 1;
    if (items.length === AT_ONCE_MAX) open = undefined;
    return (await outcomes)[place]!;
  };
}

function endOf(work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, TURN_MAX_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}
