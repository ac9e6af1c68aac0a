import { type Chain, chainKey, chainParams, chainSql } from './chain.ts';
import type { Param } from './database.ts';
import { msLeft, withinDeadline, withoutDeadline } from './deadline.ts';

/**
 * Chains with the same texts that wait at the same moment run as one statement, with one round trip and one commit:
 * with 32 connections, PostgreSQL then needs a third of the processor time for an answer. If the server refuses a group,
 * each of its chains runs alone. Chains of an owner whose rows are locked wait in a separate queue, so that other owners
 * do not wait.
 */
export type RunChain = <Row>(chain: Chain, owner?: number) => Promise<Row[]>;

interface GroupParts {
  query: <Row>(sql: string, params: readonly Param[]) => Promise<Row[]>;
  runAlone: <Row>(chain: Chain) => Promise<Row[]>;
  /** Why the server refused a statement and wrote nothing. Undefined for any other failure. */
  refusalOf: (error: unknown) => 'locked' | 'refused' | undefined;
  /** How many statements run at the same time. Chains that arrive in the meantime form the next groups. */
  runningMax: number;
}

/** A larger statement would keep its callers waiting longer than it saves. */
const GROUP_MAX = 32;
/** How long one owner's lock may delay the others. */
const LOCK_WAIT_MAX_MS = 100;
/** Chains with more to write run alone: the others would wait for them. */
const CHAIN_MAX_LENGTH = 32_768;

interface Waiting {
  owner: number;
  chain: Chain;
  key: string;
  /** The row that the gate changes. Two chains for the same row never share a statement. */
  row: string;
  /** When its caller stops waiting, as a time of `performance.now()`. After that it is not run. */
  endsAtMs: number;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

/** What the gate is `returning`, with the number of its chain in the group. */
interface Found {
  chain: number;
}
const idOf = ({ chain: { gate } }: Waiting) => Number(gate?.values[0]?.id ?? 0);
const isLate = ({ endsAtMs }: Waiting) => performance.now() >= endsAtMs;

let unique = 0;
/** A gate that changes nothing may find the same row as another. */
const rowOf = ({ gate }: Chain) =>
  gate && gate.shape.do !== 'find'
    ? `${gate.shape.table} ${gate.values[0]!.merchant_id} ${gate.values[0]!.id}`
    : `${++unique}`;

export function createChainGroups({ query, runAlone, refusalOf, runningMax }: GroupParts): RunChain {
  const groupTexts = new Map<string, string>();
  const lockedOwners = new Map<number, Waiting[]>();
  let waiting: Waiting[] = [];
  let running = 0;
  let scheduled = false;

  function sqlFor({ chain, key }: Waiting): string {
    let sql = groupTexts.get(key);
    if (!sql) {
      sql = chainSql(chain, LOCK_WAIT_MAX_MS);
      groupTexts.set(key, sql);
    }
    return sql;
  }

  const settleAlone = ({ chain, resolve, reject }: Waiting) => runAlone(chain).then(resolve, reject);

  async function runGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const rows = await query<Found>(sqlFor(group[0]!), chainParams(group.map(({ chain }) => chain)));
      const byChain = Map.groupBy(rows, ({ chain }) => chain);
      for (const [index, { resolve }] of group.entries()) resolve(byChain.get(index) ?? []);
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
    else void withoutDeadline(() => runQueue(each));
  }

  async function runQueue(first: Waiting): Promise<void> {
    const queue = [first];
    lockedOwners.set(first.owner, queue);
    for (let each = queue.shift(); each; each = queue.shift()) {
      if (isLate(each)) continue;
      try {
        each.resolve(await runAlone(each.chain));
      } catch (error) {
        each.reject(error);
        if (refusalOf(error)) continue;
        // The lock is held longer than every time-out: each of the others would wait just as long.
        for (const { reject } of queue.splice(0)) reject(error);
      }
    }
    lockedOwners.delete(first.owner);
  }

  function takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    const rows = new Set<string>();
    const left: Waiting[] = [];
    for (const each of waiting) {
      if (isLate(each)) continue;
      const isFirst = group.length === 0;
      if ((isFirst || each.key === group[0]!.key) && group.length < GROUP_MAX && !rows.has(each.row)) {
        group.push(each);
        rows.add(each.row);
      } else left.push(each);
    }
    waiting = left;
    // In one order, so that two processes that write the same rows do not wait for each other.
    return group.sort((a, b) => a.owner - b.owner || idOf(a) - idOf(b));
  }

  function start(): void {
    scheduled = false;
    while (running < runningMax && waiting.length > 0) {
      const group = takeGroup();
      if (group.length === 0) return;
      running += 1;
      runGroup(group).finally(() => {
        running -= 1;
        start();
      });
    }
  }

  return <Row>(chain: Chain, owner?: number) => {
    if (owner === undefined || lengthOf(chain) > CHAIN_MAX_LENGTH) return runAlone<Row>(chain);
    const result = new Promise<Row[]>((resolve, reject) => {
      const each: Waiting = {
        ...{ owner, chain, key: chainKey(chain), row: rowOf(chain) },
        endsAtMs: performance.now() + msLeft(),
        resolve: resolve as Waiting['resolve'],
        reject,
      };
      if (lockedOwners.has(owner)) return queueBehindLock(each);
      waiting.push(each);
      if (scheduled) return;
      scheduled = true;
      // After this turn of the event loop, so that the other requests of this turn join the group.
      withoutDeadline(() => setImmediate(start));
    });
    return withinDeadline(result, Number.POSITIVE_INFINITY);
  };
}

function lengthOf({ gate, steps }: Chain): number {
  let length = 0;
  for (const step of gate ? [gate, ...steps] : steps) {
    for (const row of step.values) {
      for (const value of Object.values(row)) if (typeof value === 'string') length += value.length;
    }
  }
  return length;
}
