import type { Chain, ChainWithIds, NewIds } from '../chain.ts';
import { numbersWanted } from '../chainSteps.ts';
import { DeadlinePassed, msLeft, withinDeadline, withoutDeadline } from '../deadline.ts';

/**
 * On a cluster: the chains of one owner run one after another, and those that wait at the same moment share a transaction.
 * They would wait for each other's locks anyway, each with a connection that others need.
 */
interface QueueParts {
  /** All or nothing. Returns what each of them found. */
  runAll: (chains: readonly Chain[]) => Promise<unknown[][]>;
  draw: (wanted: readonly ChainWithIds['newIds'][]) => Promise<NewIds[]>;
  /** Nothing was written, so that each can be run alone. */
  isRefused: (error: unknown) => boolean;
}

interface Waiting {
  given: Chain | ChainWithIds;
  /** When its caller stops waiting, as a time of `performance.now()`. After that it is not run. */
  endsAtMs: number;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

/** More would keep the owner's rows locked for longer than it saves. */
const TOGETHER_MAX = 16;

export function createOwnerQueues({ runAll, draw, isRefused }: QueueParts) {
  const queues = new Map<number, Waiting[]>();

  async function runTogether(group: readonly Waiting[]): Promise<void> {
    try {
      const chains = await withNumbers(group.map(({ given }) => given));
      const found = await runAll(chains);
      for (const [index, { resolve }] of group.entries()) resolve(found[index]!);
    } catch (error) {
      if (group.length > 1 && isRefused(error)) for (const each of inTime(group)) await runTogether([each]);
      else for (const { reject } of group) reject(error);
    }
  }

  /**
   * With all numbers that they need, so that no insert has to draw its own. They are drawn before anything is locked: the
   * events of writers that do not wait for each other may be numbered in another order than they are committed.
   */
  async function withNumbers(all: readonly (Chain | ChainWithIds)[]): Promise<Chain[]> {
    const first = await drawFor(all.map((given) => ('build' in given ? given.newIds : numbersWanted(given))));
    const chains = all.map(
      (given, index): Chain =>
        'build' in given ? given.build(first[index]!) : { ...given, numbers: first[index]! },
    );
    // What the others insert is known only now.
    const rest = await drawFor(chains.map((chain) => (chain.numbers ? {} : numbersWanted(chain))));
    return chains.map((chain, index) => ({ numbers: rest[index]!, ...chain }));
  }

  const drawFor = async (wanted: readonly ChainWithIds['newIds'][]): Promise<NewIds[]> =>
    wanted.some((newIds) => Object.keys(newIds).length > 0) ? draw(wanted) : wanted.map(() => ({}));

  function* inTime(group: readonly Waiting[]) {
    for (const each of group) {
      if (performance.now() < each.endsAtMs) yield each;
      else each.reject(new DeadlinePassed());
    }
  }

  async function work(owner: number, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const group = [...inTime(queue.splice(0, TOGETHER_MAX))];
      if (group.length > 0) await runTogether(group);
    }
    queues.delete(owner);
  }

  return <Row>(given: Chain | ChainWithIds, owner: number): Promise<Row[]> => {
    const result = new Promise<Row[]>((resolve, reject) => {
      const endsAtMs = performance.now() + msLeft();
      const each: Waiting = { given, endsAtMs, resolve: resolve as Waiting['resolve'], reject };
      const queue = queues.get(owner);
      if (queue) {
        queue.push(each);
        return;
      }
      const own = [each];
      queues.set(owner, own);
      // After this turn of the event loop, so that the other requests of this turn join it.
      withoutDeadline(() => setImmediate(() => void work(owner, own)));
    });
    return withinDeadline(result);
  };
}
