import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import { type Job, type JobKey, pauseEnd, type Result, SERVICE, Unavailable } from './job.ts';
import { forgetFailure, noteFailure, takeLease } from './leases.ts';

export interface RunnerParts {
  database: Database;
  log: Logger;
  now: () => Date;
  observer?: Observer | undefined;
}

/** For the metrics. */
interface Observer {
  ran(job: string, outcome: 'ok' | 'failed', seconds: number): void;
  /** It has begun to have something due, or has nothing left. */
  due(job: string, since: Date | undefined): void;
}

export interface JobHealth {
  job: string;
  /** When it last looked or ran without a failure. */
  succeeded_at: string | null;
  /** Since when all of it has failed. */
  failing_since: string | null;
  /** How many merchants it fails for. */
  failing: number;
}

export interface Runner {
  /** There may be something to do: for all jobs, or for one. */
  wake(job?: string): void;
  /** Resolves when none of these jobs has anything to do, and nothing is running. Without names: none of all. */
  idle(names?: readonly string[]): Promise<void>;
  health(): JobHealth[];
  /** Waits until what is running has ended. */
  stop(): Promise<void>;
}

/** A look takes at most a tenth of the time: with many merchants it may take long. */
const LOOK_SHARE = 10;
const IDLE_CHECK_MS = 10;

/** Runs the jobs until it is stopped. Any number of processes may do it. */
export function startJobs(jobs: readonly Job[], parts: RunnerParts): Runner {
  const stopping = new AbortController();
  const shared = { ...parts, stopping: stopping.signal, away: new Set<string>() };
  const all = jobs.map((job) => startJob(job, shared));
  const wake = (name?: string) => {
    for (const one of all) if (name === undefined || one.name === name) one.lookSoon();
  };
  for (const job of jobs) job.started?.(wake);
  return {
    wake,
    async idle(names) {
      const waited = all.filter(({ name }) => names === undefined || names.includes(name));
      // What one of them does may give another one something to do.
      for (let isQuiet = false; !isQuiet; )
        isQuiet = (await Promise.all(waited.map((one) => one.settle()))).every((hasNothing) => hasNothing);
    },
    health: () => all.map((one) => one.health()),
    async stop() {
      stopping.abort();
      await Promise.all(all.map((one) => one.ended()));
    },
  };
}

interface Shared extends RunnerParts {
  stopping: AbortSignal;
  /** The jobs that could not use the database: the first of an outage logs it. */
  away: Set<string>;
}

interface StartedJob {
  name: string;
  lookSoon(): void;
  /** Looks now, and waits for what it starts. False if there may be more. */
  settle(): Promise<boolean>;
  health(): JobHealth;
  ended(): Promise<void>;
}

function startJob(job: Job, { database, log, now, observer, stopping, away }: Shared): StartedJob {
  const lanes = new Set<Promise<void>>();
  /** How many turns each merchant has now. */
  const busy = new Map<number, number>();
  /** Those that were found due while they had a turn. */
  const foundBusy = new Set<number>();
  /** When those that have failed, or wait, have their next turn. */
  const resting = new Map<string, number>();
  const failingSince = new Map<string, number>();
  const { wakes = [], inFlight = new Set() } = job;
  /** The lanes share it. Undefined when it has come to an end. */
  let turns: AsyncGenerator<JobKey> | undefined;
  let lookAgain = false;
  /** How long a look that found nothing to do took. */
  let lookMs = 0;
  let hasMore = false;
  /** Counts what may have left more to do. */
  let changes = 0;
  let timer: { at: number; clear: () => void } | undefined;
  let nextInMs = job.everyMs;
  /** Since when nothing works. In a pause it does not even look. */
  let unavailable: { sinceMs: number; untilMs: number; isPause: boolean } | undefined;
  let succeededAt: Date | undefined;
  let dueSince: Date | undefined;

  function look(): void {
    timer?.clear();
    timer = undefined;
    lookAgain = true;
    fillLanes();
  }

  function lookIn(ms: number): void {
    const at = performance.now() + ms;
    if (stopping.aborted || (timer && timer.at <= at)) return;
    timer?.clear();
    const timeout = setTimeout(look, ms).unref();
    timer = { at, clear: () => clearTimeout(timeout) };
  }

  function lookSoon(): void {
    changes += 1;
    const ms = Math.max(job.gatherMs ?? 0, Math.min(LOOK_SHARE * lookMs, job.everyMs));
    if (ms > 0) lookIn(ms);
    else if (!stopping.aborted) look();
  }

  function fillLanes(): void {
    while (lanes.size < (job.lanes ?? 1) && canWork()) {
      const lane = work().finally(() => {
        lanes.delete(lane);
        if (lanes.size > 0) return;
        // While nothing works it waits for the next poll or signal.
        if (unavailable) lookIn(job.everyMs);
        else if (lookAgain) fillLanes();
        else lookIn(nextInMs);
      });
      lanes.add(lane);
    }
    if (lanes.size === 0) lookIn(job.everyMs);
  }

  const canWork = () => !stopping.aborted && now().getTime() >= (unavailable?.untilMs ?? 0);

  /** One turn after another, until nothing is due. */
  async function work(): Promise<void> {
    try {
      for (;;) {
        turns ??= allTurns();
        const { value: key, done } = await turns.next();
        if (done) return;
        await turn(key);
        // With SQLite, awaiting a statement does not let anything else happen.
        await nextTurn();
      }
    } catch (err) {
      pauseAll(err);
    }
  }

  async function* allTurns(): AsyncGenerator<JobKey> {
    try {
      while (lookAgain && canWork()) {
        [lookAgain, hasMore, nextInMs] = [false, false, job.everyMs];
        for await (const key of dueKeys()) {
          if (!canWork()) return;
          if ((resting.get(nameOf(key)) ?? 0) > now().getTime()) continue;
          const count = busy.get(key.merchant_id) ?? 0;
          if (count === (job.lanesOfEach ?? 1)) {
            foundBusy.add(key.merchant_id);
            continue;
          }
          busy.set(key.merchant_id, count + 1);
          // There may be more.
          fillLanes();
          yield key;
        }
      }
    } finally {
      turns = undefined;
    }
  }

  async function* dueKeys(): AsyncGenerator<JobKey> {
    if (!job.due) {
      yield SERVICE;
      return;
    }
    const startedAt = performance.now();
    for (let after: JobKey | undefined; ; ) {
      const page = await job.due({ at: now(), after });
      if (after === undefined) setDue(page.length > 0);
      // A pause ends with a turn that succeeds.
      if (!unavailable?.isPause || dueSince === undefined) works();
      if (page.length === 0) break;
      yield* page;
      after = page.at(-1);
    }
    lookMs = hasMore ? 0 : performance.now() - startedAt;
  }

  function setDue(isDue: boolean): void {
    if (isDue === (dueSince !== undefined)) return;
    dueSince = isDue ? now() : undefined;
    observer?.due(job.name, dueSince);
    // Nobody waits any more, or another process has done it.
    if (!isDue) for (const known of [resting, failingSince]) known.clear();
  }

  async function turn(key: JobKey): Promise<void> {
    const startedAt = performance.now();
    const name = nameOf(key);
    let failed = false;
    try {
      const result = await runOne(key, name);
      works();
      resting.delete(name);
      if (failingSince.delete(name)) await forgetFailure(database, job.name, name).catch(() => {});
      if (result === 'more') [lookAgain, hasMore, changes] = [true, true, changes + 1];
      else if (result instanceof Date) resting.set(name, result.getTime());
      else if (typeof result === 'object') nextInMs = Math.min(nextInMs, Math.max(result.againInMs, 5));
    } catch (err) {
      failed = true;
      if (stopping.aborted) return;
      if (err instanceof DatabaseUnavailable || err instanceof Unavailable) throw err;
      const sinceMs = failingSince.get(name) ?? now().getTime();
      failingSince.set(name, sinceMs);
      const until = pauseEnd(sinceMs, now(), job.pauseMs);
      await noteFailure(database, job.name, name, { since: new Date(sinceMs), until }).catch(() => {});
      if (!job.due) throw err;
      // At each attempt, because the pauses grow.
      logFailure(err, key);
      resting.set(name, until.getTime());
    } finally {
      const others = busy.get(key.merchant_id)! - 1;
      if (others > 0) busy.set(key.merchant_id, others);
      else busy.delete(key.merchant_id);
      if (foundBusy.delete(key.merchant_id)) lookAgain = true;
      observer?.ran(job.name, failed ? 'failed' : 'ok', (performance.now() - startedAt) / 1000);
    }
  }

  async function runOne(key: JobKey, name: string): Promise<Result> {
    const failed = (err: unknown, about: object) => {
      logFailure(err, about);
      observer?.ran(job.name, 'failed', 0);
    };
    if (!job.lease) return job.run(key, { at: now(), signal: stopping, failed });
    const lease = await takeLease(database, job.name, name, now);
    if (!lease) return 'done';
    const signal = AbortSignal.any([stopping, lease.lost]);
    try {
      const result = await job.run(key, { at: now(), signal, failed });
      // Whoever looks first does it the next time. A little earlier: no two timers are equally fast.
      await lease.end(job.due ? undefined : new Date(now().getTime() + 0.9 * job.everyMs));
      return result;
    } catch (err) {
      await lease.end().catch(() => {});
      throw err;
    }
  }

  function works(): void {
    unavailable = undefined;
    away.delete(job.name);
    succeededAt = now();
  }

  /** Logged once, until it works again. An outage of the database is logged by one job for all. */
  function pauseAll(err: unknown): void {
    const isNew = unavailable === undefined;
    const sinceMs = unavailable?.sinceMs ?? now().getTime();
    unavailable = { sinceMs, untilMs: 0, isPause: err instanceof Unavailable };
    if (err instanceof Unavailable) {
      const atMs = now().getTime();
      unavailable.untilMs = Math.max(pauseEnd(sinceMs, now(), job.pauseMs).getTime(), atMs + err.atLeastMs);
    } else if (err instanceof DatabaseUnavailable) {
      if (away.size === 0)
        log.warn({ ...whatOf(err), job: job.name }, 'jobs cannot use the database; will retry');
      away.add(job.name);
    } else if (isNew) log.warn({ ...whatOf(err), job: job.name }, `cannot ${job.purpose}; will retry`);
  }

  function logFailure(err: unknown, about: object): void {
    log.error({ ...whatOf(err), ...about }, `cannot ${job.purpose}; will retry`);
  }

  const whatOf = (err: unknown) => (job.hidesErrors ? { error: nameOfError(err) } : { err });

  const stopListening = wakes.map((topic) => database.listen(topic, lookSoon));
  // Work that is only regular has its first turn after the first pause.
  if (job.due || wakes.length > 0) look();
  else lookIn(job.everyMs);

  const running = async () => {
    while (lanes.size > 0 || inFlight.size > 0) await Promise.all([...lanes, ...inFlight]);
  };
  return {
    name: job.name,
    lookSoon,
    async settle() {
      const before = changes;
      look();
      await running();
      if (unavailable) await sleep(IDLE_CHECK_MS);
      return changes === before && unavailable === undefined;
    },
    health: () => ({
      job: job.name,
      succeeded_at: succeededAt?.toISOString() ?? null,
      failing_since: unavailable ? new Date(unavailable.sinceMs).toISOString() : null,
      failing: failingSince.size,
    }),
    async ended() {
      for (const stop of stopListening) stop();
      timer?.clear();
      await running();
    },
  };
}

const nameOf = (key: JobKey): string => Object.values(key).join(' ');

/** Never the message or the stack, which may quote a person. */
function nameOfError(err: unknown): string {
  if (!(err instanceof Error)) return typeof err;
  const { code } = err as { code?: unknown };
  const { name } = err.constructor;
  return typeof code === 'string' || typeof code === 'number' ? `${name} ${String(code).slice(0, 40)}` : name;
}
