/**
 * The port to both engines. One SQL text runs on both, with `$1` parameters. Use a separate statement for an engine only
 * where it must differ.
 */
export type Engine = 'sqlite' | 'postgres';
/** An array of ids is bound as `bigint[]` on PostgreSQL and as JSON on SQLite: see `idIn`. */
export type Param = string | number | null | readonly number[] | readonly string[];

/** The signal after a commit that changed what a merchant sees: its notifications, messages or documents. */
export const CHANGES = 'deskbell_changes';
/** The signal after a commit that ended a session or removed a signing key. */
export const REVOCATIONS = 'deskbell_revocations';

export interface Queries {
  readonly engine: Engine;
  /**
   * The tables are spread over a cluster by merchant. Then a statement names its merchant (`merchant_id = $1`), so that one
   * node runs it, and writes to one table: see docs/scale.md.
   */
  readonly isSpread: boolean;
  /** Reads. */
  all<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
  one<Row>(sql: string, params?: readonly Param[]): Promise<Row | undefined>;
  /** Runs one statement that writes. When it resolves, the write is durable. Returns what it is `returning`. */
  run<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
  /**
   * The same for a write whose result nobody needs. In a transaction it does not wait: the write is sent at once, and if
   * it fails, the transaction fails. So the writes that follow from a decision cost one round trip, with the commit.
   */
  write(sql: string, params?: readonly Param[]): Promise<void>;
  /** New numbers for rows, in order. On SQLite only in a transaction, which must use them. */
  newIds(table: string, count: number): Promise<readonly number[]>;
}

export type Reads = Pick<Queries, 'engine' | 'isSpread' | 'all' | 'one'>;
/** What decides how a statement is written. */
export type Dialect = Pick<Queries, 'engine' | 'isSpread'>;

/**
 * The lock order. A transaction that locks rows of several tables locks them in this order, within a table by id:
 *
 *   1. conversations, then conversation_storage, where their bytes are counted
 *   2. notifications, with the merchant's row of inboxes, then the ask with the same id
 *   3. documents, with the merchant's row of live_versions, then recognitions and its row of confidence
 *   4. webhook_endpoints, push_subscriptions, alert_logs, alert_settings
 *   5. the name of the merchant's lanes (`lockLanes`), then deliveries
 *   6. channel_stops, then delivery_queues
 *
 * Two transactions that lock rows in different orders can deadlock. Triggers renew the versions in inboxes and
 * live_versions at the end of the statement that changes a row, so lock all rows that you need in a table before the
 * first write to it. An ask may come later: whoever locks it and then another row has locked its notification first.
 * event_logs is locked in a transaction of its own, before the events that get their positions there.
 */
export interface Transaction extends Queries {
  /** Locks a name until the transaction ends. False if another transaction has locked it. */
  tryLock(name: string): Promise<boolean>;
  /** Like `tryLock`, but waits for the lock. */
  lock(name: string): Promise<void>;
  /** For an effect outside the transaction: it happens once, and only if the transaction is committed. */
  afterCommit(effect: () => void): void;
}

export interface Database extends Queries {
  /**
   * All or nothing. `work` must only await its own queries, and have no effect outside the transaction, because on
   * PostgreSQL it may run again, up to three times, after a deadlock or a serialization failure.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  snapshot(): Promise<Snapshot>;
  /** Reads that do not wait behind requests: on PostgreSQL on the connection that listens. They must be short. */
  readonly urgent: Reads;
  /**
   * Runs a script, for migrations: one statement per call, all in one transaction, without a time limit. On PostgreSQL
   * the indexes are built before, each on its own and while others write. If it fails, it can be run again.
   */
  script(sql: string, indexes?: readonly string[]): Promise<void>;
  /**
   * Makes sure that nobody can read what was deleted from the database's files. False if somebody who reads a snapshot
   * prevents it: then try again. PostgreSQL does it by itself, with its vacuum.
   */
  scrub(): Promise<boolean>;
  /** Runs `work` while no other process runs anything under this name. After a while it throws, and says who does. */
  exclusively<T>(name: string, work: () => Promise<T>, waitMs?: number): Promise<T>;
  /** Notifies every process that listens, including this one. A signal is lost if its connection breaks. */
  signal(topic: string): void;
  /** Calls back for each signal of this topic. Call the result to stop. */
  listen(topic: string, onSignal: () => void): () => void;
  /** Counts this process under a name while it is connected. Rejects if it cannot be connected within ten seconds. */
  announce(name: string): Promise<void>;
  /** How many processes have announced a name. One for the embedded database, which has only one server. */
  countAnnounced(name: string): Promise<number>;
  /**
   * False while writes fail because of the disk: it is full, read-only or broken. Then this tries one, so that it becomes
   * true again by itself. PostgreSQL reports such a problem to each writer, and its operator watches its disk.
   */
  canWrite(): Promise<boolean>;
  /** One line for the operator if locks do not hold or signals do not arrive. It tries them on PostgreSQL. */
  engineProblem(): Promise<string | undefined>;
  /** How many connections are used now. The embedded database has one that writes. */
  connections(): Connections;
  close(): Promise<void>;
}

interface Connections {
  inUse: number;
  idle: number;
  /** Callers that wait for one. */
  waiting: number;
  max: number;
}

/**
 * Reads that all see the database as it was at the first one, for what is too large to read at once. A snapshot has its
 * own connection, so a slow reader takes none from the others. Callers must bound how many are open, and for how long:
 * on SQLite the write-ahead log grows meanwhile, on PostgreSQL old row versions stay.
 */
export interface Snapshot extends Reads {
  /** Must be called. A second call does nothing. */
  close(): void;
}

/** Uses the caller's transaction, if there is one. */
export const inTransaction = <T>(
  queries: Database | Transaction,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> => ('transaction' in queries ? queries.transaction(work) : work(queries));

/** The database cannot be reached, or refuses every write, at the moment. */
export class DatabaseUnavailable extends Error {}

/** The database cannot be opened. The message is one line for the person who started the program. */
export class DatabaseProblem extends Error {}
