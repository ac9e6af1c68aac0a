import { type Chain, type ChainWithIds, chainKey, chainParams, chainSql, type NewIds } from './chain.ts';
import type { Param } from './database.ts';
import { msLeft, withinDeadline, withoutDeadline } from './deadline.ts';

/**
 * Chains with the same texts that wait at the same moment run as one statement, with one round trip and one commit:
 * with 32 connections, PostgreSQL then needs a third of the processor time for an answer. If the server refuses a group,
 * each of its chains runs alone. Chains of an owner whose rows are locked wait in a separate queue, so that other owners
 * do not wait.
 */
export type RunChain = <Row>(chain: Chain | ChainWithIds, owner?: number) => Promise<Row[]>;

interface GroupParts {
  query: <Row>(sql: string, params: readonly Param[]) => Promise<Row[]>;
  runAlone: <Row>(chain: Chain) => Promise<Row[]>;
  draw: (wanted: readonly ChainWithIds['newIds'][]) => Promise<NewIds[]>;
  /** Why the server refused a statement and wrote nothing. Undefined for any other failure. */
  refusalOf: (error: unknown) => 'locked' | 'refused' | undefined;
  /** How many statements run at the same time, if they take long. */
  runningMax: number;
}

/** A larger statement would keep its callers waiting longer than it saves. */
const GROUP_MAX = 16;
/** How many of a group's chains one owner may have while others wait. */
const OWNER_SHARE = GROUP_MAX / 2;
/**
 * How long a group keeps the next one with the same texts waiting, which grows meanwhile. With 32 connections this is 1.2
 * times as fast as several small groups at the same time. Most groups take less, unless they wait for a lock or a disk.
 */
const NEXT_GROUP_MS = 20;
/** How long one owner's lock may delay the others. */
const LOCK_WAIT_MAX_MS = 100;
/** Chains with more to write run alone: the others would wait for them. */
const CHAIN_MAX_LENGTH = 32_768;

interface Caller {
  owner: number | undefined;
  /** When it stops waiting, as a time of `performance.now()`. After that its chain is not run. */
  endsAtMs: number;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

interface Waiting extends Caller {
  owner: number;
  chain: Chain;
  key: string;
  /** The row that the gate changes. Two chains for the same row never share a statement. */
  row: string;
}

/** What the gate is `returning`, with the number of its chain in the group. */
interface Found {
  chain: number;
}
const idOf = ({ chain: { gate } }: Waiting) => Number(gate?.values[0]?.id ?? 0);
/** A timer that told the caller may be a little early. */
const TIMER_EARLY_MS = 2;
const isLate = ({ endsAtMs }: Caller) => performance.now() >= endsAtMs - TIMER_EARLY_MS;

let unique = 0;
/** A gate that changes nothing may find the same row as another. */
const rowOf = ({ gate }: Chain) =>
  gate && gate.shape.do !== 'find'
    ? `${gate.shape.table} ${gate.values[0]!.merchant_id} ${gate.values[0]!.id}`
    : `${++unique}`;

export function createChainGroups({ query, runAlone, draw, refusalOf, runningMax }: GroupParts): RunChain {
  const groupTexts = new Map<string, string>();
  const lockedOwners = new Map<number, Waiting[]>();
  /** How many chains of an owner are in groups that run. Another group would wait for the rows that they have locked. */
  const writing = new Map<number, number>();
  /** When the last group with a key started, while it runs. */
  const startedAtMs = new Map<string, number>();
  let waiting: Waiting[] = [];
  let withoutIds: (Caller & { given: ChainWithIds })[] = [];
  let running = 0;
  let scheduled = false;
  let isTimed = false;

  function sqlFor({ chain, key }: Waiting): string {
    let sql = groupTexts.get(key);
    if (!sql) {
      sql = chainSql(chain, LOCK_WAIT_MAX_MS);
      groupTexts.set(key, sql);
    }
    return sql;
  }

  function release({ owner }: Waiting): void {
    const left = writing.get(owner)! - 1;
    if (left > 0) writing.set(owner, left);
    else writing.delete(owner);
  }

  async function settleAlone(each: Waiting): Promise<void> {
    if (!isLate(each)) await runAlone(each.chain).then(each.resolve, each.reject);
    release(each);
    start();
  }

  async function runGroup(group: readonly Waiting[]): Promise<void> {
    const { key } = group[0]!;
    const startedAt = performance.now();
    startedAtMs.set(key, startedAt);
    running += 1;
    let failure: { error: unknown } | undefined;
    try {
      const rows = await query<Found>(sqlFor(group[0]!), chainParams(group.map(({ chain }) => chain)));
      const byChain = Map.groupBy(rows, ({ chain }) => chain);
      for (const [index, { resolve }] of group.entries()) resolve(byChain.get(index) ?? []);
    } catch (error) {
      failure = { error };
    }
    running -= 1;
    // A younger group with this key may still run.
    if (startedAtMs.get(key) === startedAt) startedAtMs.delete(key);
    if (failure) settleFailed(group, failure.error);
    else for (const each of group) release(each);
    start();
  }

  /** Each owner then waits for its own alone. */
  function settleFailed(group: readonly Waiting[], error: unknown): void {
    const refusal = refusalOf(error);
    const byOwner = [...Map.groupBy(group, ({ owner }) => owner).values()];
    if (refusal === 'refused') for (const each of group) void settleAlone(each);
    else if (refusal === 'locked' && byOwner.length > 1) for (const own of byOwner) void runGroup(own);
    else {
      for (const each of group) {
        if (refusal === 'locked') queueBehindLock(each);
        else each.reject(error);
        release(each);
      }
    }
  }

  function queueBehindLock(each: Waiting): void {
    const queue = lockedOwners.get(each.owner);
    if (queue) queue.push(each);
    else void withoutDeadline(() => runQueue(each));
  }

  function queueLocked(): void {
    const behind = waiting.filter(({ owner }) => lockedOwners.has(owner));
    if (behind.length === 0) return;
    waiting = waiting.filter(({ owner }) => !lockedOwners.has(owner));
    for (const each of behind) queueBehindLock(each);
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

  const isBusy = (key: string) => performance.now() < (startedAtMs.get(key) ?? 0) + NEXT_GROUP_MS;

  function takeGroup(): Waiting[] {
    queueLocked();
    const left = waiting.filter((each) => !isLate(each));
    const ready: Waiting[] = [];
    const rows = new Set<string>();
    /** Whose oldest chain waits for a group. Younger ones would start again and again, and it would never be free. */
    const reserved = new Set<number>();
    for (const each of left) {
      const { key, owner, row } = each;
      if (writing.has(owner) || reserved.has(owner)) continue;
      if (isBusy(key)) reserved.add(owner);
      else if ((ready.length === 0 || key === ready[0]!.key) && !rows.has(row)) {
        ready.push(each);
        rows.add(row);
      }
    }
    const group = shareOut(ready);
    const taken = new Set(group);
    waiting = left.filter((each) => !taken.has(each));
    // In one order, so that two processes that write the same rows do not wait for each other.
    return group.sort((a, b) => a.owner - b.owner || idOf(a) - idOf(b));
  }

  function start(): void {
    scheduled = false;
    while (running < runningMax && waiting.length > 0) {
      const group = takeGroup();
      if (group.length === 0) {
        if (!isTimed) setTimeout(startLate, NEXT_GROUP_MS).unref();
        isTimed = true;
        return;
      }
      for (const { owner } of group) writing.set(owner, (writing.get(owner) ?? 0) + 1);
      void runGroup(group);
    }
  }

  function startLate(): void {
    isTimed = false;
    start();
  }

  /** One statement for all that need ids in the same turn of the event loop. */
  async function drawAll(): Promise<void> {
    const callers = withoutIds;
    withoutIds = [];
    let ids: NewIds[];
    try {
      ids = await draw(callers.map(({ given }) => given.newIds));
    } catch (error) {
      for (const { reject } of callers) reject(error);
      return;
    }
    for (const [index, { given, ...caller }] of callers.entries()) {
      try {
        enqueue(given.build(ids[index]!), caller);
      } catch (error) {
        caller.reject(error);
      }
    }
    start();
  }

  function enqueue(chain: Chain, caller: Caller): void {
    const { owner, resolve, reject } = caller;
    if (isLate(caller)) return;
    // A statement has one lock.
    if (owner === undefined || chain.lock !== undefined || lengthOf(chain) > CHAIN_MAX_LENGTH) {
      runAlone(chain).then(resolve, reject);
      return;
    }
    waiting.push({ ...caller, owner, chain, key: chainKey(chain), row: rowOf(chain) });
    if (lockedOwners.has(owner)) queueLocked();
  }

  return <Row>(given: Chain | ChainWithIds, owner?: number) => {
    const result = new Promise<Row[]>((resolve, reject) => {
      const endsAtMs = performance.now() + msLeft();
      const caller: Caller = { owner, endsAtMs, resolve: resolve as Caller['resolve'], reject };
      const needsIds = 'build' in given && Object.keys(given.newIds).length > 0;
      // After this turn of the event loop, so that the other requests of this turn join the group.
      if (needsIds) {
        if (withoutIds.push({ ...caller, given }) === 1) withoutDeadline(() => setImmediate(drawAll));
        return;
      }
      enqueue('build' in given ? given.build({}) : given, caller);
      if (scheduled) return;
      scheduled = true;
      withoutDeadline(() => setImmediate(start));
    });
    return withinDeadline(result, Number.POSITIVE_INFINITY);
  };
}

/** If there are too many, every owner has some of its own before one has more. */
function shareOut(ready: readonly Waiting[]): Waiting[] {
  if (ready.length <= GROUP_MAX) return [...ready];
  const counts = new Map<number, number>();
  const rest: Waiting[] = [];
  const shared = ready.filter((each) => {
    const count = (counts.get(each.owner) ?? 0) + 1;
    counts.set(each.owner, count);
    if (count > OWNER_SHARE) rest.push(each);
    return count <= OWNER_SHARE;
  });
  return [...shared, ...rest].slice(0, GROUP_MAX);
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
