import { groupSql, paramsOf, type Step } from './chain.ts';
import type { Param } from './database.ts';

/**
 * Chains with the same texts that wait at the same moment run as one statement, with one trip and one commit: with 32
 * connections an answer takes 1.6 times less processor time. If the server refuses a group, each of its chains runs
 * alone. Chains of an owner whose rows are locked wait in a queue of their own, so that other owners do not wait.
 */
export type RunChain = <Row>(steps: readonly Step[], owner?: number) => Promise<Row | undefined>;

interface GroupParts {
  query: <Row>(sql: string, params: readonly Param[]) => Promise<Row[]>;
  runAlone: <Row>(steps: readonly Step[]) => Promise<Row | undefined>;
  /** Why the server refused a statement, so that nothing of it was written. Nothing for any other failure. */
  refusalOf: (error: unknown) => 'locked' | 'refused' | undefined;
  /** Statements at the same time. The chains that come meanwhile form the next groups. */
  runningMax: number;
}

/** Few sizes, since PostgreSQL plans each text several times on each connection: 2 and 4 cost more than they gained. */
const SIZES = [16, 8, 1] as const;
/** More in one statement gain nothing, and its plan grows. */
const STEPS_MAX = 64;
/** What other owners may feel of a lock. */
const LOCK_WAIT_MAX_MS = 100;
/** Chains with longer parameters run alone: the others would wait for them. */
const PARAMS_MAX_LENGTH = 32_768;

interface Waiting {
  owner: number;
  steps: readonly Step[];
  texts: string;
  resolve: (row: unknown) => void;
  reject: (error: unknown) => void;
}

export function createChainGroups({ query, runAlone, refusalOf, runningMax }: GroupParts): RunChain {
  const groupTexts = new Map<string, string>();
  const lockedOwners = new Map<number, Waiting[]>();
  let waiting: Waiting[] = [];
  let running = 0;
  let scheduled = false;

  function textFor({ steps, texts }: Waiting, size: number): string {
    const key = `${size} ${texts}`;
    let sql = groupTexts.get(key);
    if (!sql) {
      sql = groupSql(steps, size, LOCK_WAIT_MAX_MS);
      groupTexts.set(key, sql);
    }
    return sql;
  }

  const settleAlone = ({ steps, resolve, reject }: Waiting) => runAlone(steps).then(resolve, reject);

  async function runGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const rows = await query<{ place: number; row: unknown }>(
        textFor(group[0]!, group.length),
        group.flatMap(({ steps }) => paramsOf(steps)),
      );
      const byPlace = new Map(rows.map(({ place, row }) => [place, row]));
      for (const [place, { resolve }] of group.entries()) resolve(byPlace.get(place));
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) for (const { reject } of group) reject(error);
      else if (refusal === 'refused') await Promise.all(group.map(settleAlone));
      else if (group.length > 1) await Promise.all(group.map((each) => runGroup([each])));
      else queueBehindLock(group[0]!);
    }
  }

  function queueBehindLock(each: Waiting): void {
    const queue = lockedOwners.get(each.owner);
    if (queue) queue.push(each);
    else void runQueue(each);
  }

  async function runQueue(first: Waiting): Promise<void> {
    const queue = [first];
    lockedOwners.set(first.owner, queue);
    for (let each = queue.shift(); each; each = queue.shift()) {
      try {
        each.resolve(await runAlone(each.steps));
      } catch (error) {
        each.reject(error);
        if (refusalOf(error)) continue;
        // The lock outlasts every time-out: the others would each wait as long again.
        for (const { reject } of queue.splice(0)) reject(error);
      }
    }
    lockedOwners.delete(first.owner);
  }

  function takeGroup(): Waiting[] {
    const [{ texts, steps }] = waiting as [Waiting];
    const alike = waiting.filter((each) => each.texts === texts);
    const sizeMax = Math.min(alike.length, STEPS_MAX / steps.length);
    // By owner, so that two processes take the same rows in the same order.
    const group = alike
      .slice(0, SIZES.find((size) => size <= sizeMax) ?? 1)
      .sort((a, b) => a.owner - b.owner);
    waiting = waiting.filter((each) => !group.includes(each));
    return group;
  }

  function start(): void {
    scheduled = false;
    while (running < runningMax && waiting.length > 0) {
      running += 1;
      runGroup(takeGroup()).finally(() => {
        running -= 1;
        start();
      });
    }
  }

  return <Row>(steps: readonly Step[], owner?: number) => {
    const length = paramsOf(steps).reduce<number>((sum, param) => sum + String(param).length, 0);
    if (owner === undefined || length > PARAMS_MAX_LENGTH) return runAlone<Row>(steps);
    return new Promise<Row | undefined>((resolve, reject) => {
      const texts = steps.map(({ sql }) => sql).join(';');
      const each: Waiting = { owner, steps, texts, resolve: resolve as Waiting['resolve'], reject };
      if (lockedOwners.has(owner)) return queueBehindLock(each);
      waiting.push(each);
      if (scheduled) return;
      scheduled = true;
      // After this turn of the event loop: the other requests that it read join in.
      setImmediate(start);
    });
  };
}
