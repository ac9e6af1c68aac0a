import type { MerchantId } from '../contract/ids.ts';

/** Something that is done later: a description, and a function that does a piece of it. The runner does the rest. */
export interface Job {
  /** In metrics, in leases and for `doctor`. */
  name: string;
  /** For the log, after "cannot": "delete a merchant". */
  purpose: string;
  /** How often it looks without a signal, because signals may be lost with their connection. */
  everyMs: number;
  /** The signals after which there may be something to do. */
  wakes?: readonly string[];
  /** Signals within this time share one look. */
  gatherMs?: number;
  /**
   * Those that have something due, some at a time: the next ones after `after`, none at the end. It must not read more if
   * one of them has more to do. Absent: a job of the whole service, which looks by itself.
   */
  due?(look: Look): Promise<readonly JobKey[]>;
  /** Does a piece of it, short enough that the others get their turn. */
  run(key: JobKey, run: Run): Promise<Result>;
  /** How many turns at the same time. One without it. */
  lanes?: number;
  /** How many of them a merchant may have. One without it. */
  lanesOfEach?: number;
  /**
   * One process at a time, until it is done or has died. Not for work that settles its races in the database, by
   * compare-and-set. A job of the whole service is then done once in `everyMs`, by any process.
   */
  lease?: true;
  /** The first and the longest pause after a failure. */
  pauseMs?: Pauses;
  /** Its errors may quote a person: only their names are logged. */
  hidesErrors?: true;
  /** Called at the start, with what wakes jobs of this process. */
  started?(wake: (job: string) => void): void;
  /** What it has started and left running. */
  inFlight?: ReadonlySet<Promise<void>>;
}

/** Whose turn it is, and if a merchant has several, which of them. The log line of a failure has it. */
export type JobKey = { merchant_id: MerchantId } & Readonly<Record<string, number>>;

interface Look {
  at: Date;
  /** Where the last piece ended. Undefined at the beginning. */
  after: JobKey | undefined;
}

export interface Run {
  at: Date;
  /** Aborted when the process stops, or has lost its lease. */
  signal: AbortSignal;
  /** A part has failed, and the job itself has put it off. */
  failed(err: unknown, about: object): void;
}

/**
 * `more`: there is more to do now. `done`: nothing, until the next look. A date: nothing before that. A job of the whole
 * service may say in how many milliseconds to look again at the latest.
 */
export type Result = 'more' | 'done' | Date | { againInMs: number };

/** Thrown if nothing of the job can be done now, whoever it is for: all of it waits. Who throws it has logged why. */
export class Unavailable extends Error {
  readonly atLeastMs: number;
  constructor(cause: unknown, atLeastMs = 0) {
    super('unavailable', { cause });
    this.atLeastMs = atLeastMs;
  }
}

/** The key of a job of the whole service. */
export const SERVICE: JobKey = { merchant_id: 0 as MerchantId };

export interface Pauses {
  min: number;
  max: number;
}
const PAUSES: Pauses = { min: 1000, max: 10 * 60_000 };

/** The pause after a failure: half as long as it has failed, or waited, so that the pauses grow. */
export const pauseEnd = (sinceMs: number, at: Date, { min, max }: Pauses = PAUSES): Date =>
  new Date(at.getTime() + Math.min(Math.max((at.getTime() - sinceMs) / 2, min), max));

/** The merchants of rows that a look has found, each once. */
export const merchantsOf = (rows: readonly { merchant_id: MerchantId }[]): JobKey[] =>
  [...new Set(rows.map(({ merchant_id }) => merchant_id))].map((merchant_id) => ({ merchant_id }));
