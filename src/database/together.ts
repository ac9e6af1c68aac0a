/**
 * Does at once what is asked for in one turn of the event loop: a busy server then spends on its way to the
 * database and back a fraction of what single statements cost it. `work` begins after every one of its askers
 * has asked, so none is told of anything older, and gives an outcome for each, in their order.
 */
export function together<Item, Outcome>(
  work: (items: readonly Item[]) => Promise<readonly Outcome[]>,
): (item: Item) => Promise<Outcome> {
  let open: { items: Item[]; outcomes: Promise<readonly Outcome[]> } | undefined;
  const begin = () => {
    const items: Item[] = [];
    const outcomes = new Promise((resolve) => setImmediate(resolve)).then(() => {
      open = undefined;
      return work(items);
    });
    return { items, outcomes };
  };
  return async (item) => {
    open ??= begin();
    const { items, outcomes } = open;
    const place = items.push(item) - 1;
    return (await outcomes)[place]!;
  };
}
