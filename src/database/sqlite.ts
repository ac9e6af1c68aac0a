import { EventEmitter } from 'node:events';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BareTransaction, withEffects } from './afterCommit.ts';
import type { Database, Param, Snapshot } from './database.ts';
import { DeadlinePassed, msLeft, withoutDeadline } from './deadline.ts';
import { isNotWritable, resultCode, SQLITE_BUSY, translateSqliteError } from './sqliteErrors.ts';
import { BUSY_TIMEOUT_MS, databaseFile, lockExclusively, openFolder } from './sqliteFolder.ts';
import { splitStatements } from './statements.ts';

const BUSY_RETRY_MS = 10;
const FULL_TEXT_INDEXES = ['documents_index', 'answered_questions_index', 'inbox_index'];
/** A step takes a few milliseconds. */
const MERGED_PAGES = 200;

type Job = {
  work: (tx: BareTransaction) => Promise<unknown>;
  kind: 'statement' | 'transaction';
  /** When its caller stops waiting, as a time of `performance.now()`. After that it is not run. */
  endsAtMs: number;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

interface SqliteOptions {
  /** Only one server may use a data folder; commands may run at the same time. */
  lock: boolean;
}

/**
 * The embedded database. Reads have a separate connection and see only committed data. Writes that arrive at the same
 * time share one commit and one fsync, and are acknowledged after that.
 */
export function openSqlite(dataDir: string, { lock }: SqliteOptions): Database {
  const [writer, release] = openFolder(dataDir, lock);
  const openReader = () =>
    new DatabaseSync(databaseFile(dataDir), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  const reader = openReader();
  const read = statements(reader);
  const write = statements(writer);
  const translated = <T>(query: () => T): T => {
    try {
      return query();
    } catch (error) {
      throw translateSqliteError(error);
    }
  };

  const lastIdOf = (table: string) =>
    (write('select seq from sqlite_sequence where name = $1').get(table)?.seq as number | undefined) ?? 0;
  /** The last number that was drawn for a table, whether it is used or not. */
  const drawn = new Map<string, number>();
  const draw = (table: string, count: number): number[] => {
    const last = Math.max(lastIdOf(table), drawn.get(table) ?? 0);
    drawn.set(table, last + count);
    return Array.from({ length: count }, (_, index) => last + 1 + index);
  };

  /** Without RETURNING: with it, SQLite first copies the pages that a statement changes, and an update takes twice as long. */
  const writeNow = (sql: string, params: readonly Param[] = []) => void write(sql).run(...bound(params));

  const tx: BareTransaction = {
    engine: 'sqlite',
    isSpread: false,
    all: async <Row>(sql: string, params: readonly Param[] = []) => write(sql).all(...bound(params)) as Row[],
    one: async <Row>(sql: string, params: readonly Param[] = []) =>
      write(sql).get(...bound(params)) as Row | undefined,
    run: async <Row>(sql: string, params: readonly Param[] = []) => write(sql).all(...bound(params)) as Row[],
    write: async (sql, params) => writeNow(sql, params),
    newIds: async (table, count) => draw(table, count),
    // SQLite runs transactions one after another.
    tryLock: async () => true,
    lock: async () => {},
  };

  /** One process uses the folder, so signals stay within it. */
  const signals = new EventEmitter();
  let queue: Job[] = [];
  let flushing: Promise<void> | undefined;
  /** The last write failed because of the disk. */
  let isDiskBroken = false;

  function enqueue<T>(kind: Job['kind'], work: (tx: BareTransaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const endsAtMs = performance.now() + msLeft();
      queue.push({ work, kind, endsAtMs, resolve: resolve as Job['resolve'], reject });
      // Wait for the end of this turn of the event loop: its other writes share the commit.
      flushing ??= withoutDeadline(() => new Promise<void>((done) => setImmediate(done)).then(flush));
    });
  }

  async function flush(): Promise<void> {
    try {
      while (queue.length > 0) {
        const batch = queue;
        queue = [];
        await commitBatch(batch);
      }
    } finally {
      flushing = undefined;
    }
  }

  /** Refuses the jobs whose callers no longer wait, and returns the others. */
  function withoutLate(jobs: Job[]): Job[] {
    const nowMs = performance.now();
    return jobs.filter((job) => {
      if (job.endsAtMs > nowMs) return true;
      job.reject(new DeadlinePassed());
      return false;
    });
  }

  /**
   * Waits for a command that is writing, without blocking reads and the event loop. Returns the jobs to run: none if
   * no caller waits any more, and then nothing was begun.
   */
  async function beginWriting(batch: Job[]): Promise<Job[]> {
    let jobs = batch;
    const waitUntil = performance.now() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        if (jobs.length > 0) writer.exec('begin immediate');
        return jobs;
      } catch (error) {
        if (resultCode(error) !== SQLITE_BUSY || performance.now() > waitUntil) throw error;
        await sleep(BUSY_RETRY_MS);
        jobs = withoutLate(jobs);
        queue = withoutLate(queue);
      }
    }
  }

  /** Returns how to settle each job. One statement is atomic on its own; several need a savepoint, to be rolled back alone. */
  async function runJobs(jobs: readonly Job[]): Promise<(() => void)[]> {
    const outcomes: (() => void)[] = [];
    for (const { kind, work, resolve, reject } of jobs) {
      const savepoint = kind === 'transaction';
      try {
        if (savepoint) write('savepoint job').run();
        const value = await work(tx);
        if (savepoint) write('release job').run();
        outcomes.push(() => resolve(value));
      } catch (error) {
        // When the disk is full, SQLite rolls everything back: then no write of this batch may be acknowledged.
        if (!writer.isTransaction) throw error;
        if (savepoint) writer.exec('rollback to job; release job');
        outcomes.push(() => reject(translateSqliteError(error)));
      }
    }
    return outcomes;
  }

  async function commitBatch(batch: Job[]): Promise<void> {
    let outcomes: (() => void)[];
    try {
      const jobs = await beginWriting(batch);
      if (jobs.length === 0) return;
      outcomes = await runJobs(jobs);
      writer.exec('commit');
    } catch (error) {
      if (isNotWritable(error)) isDiskBroken = true;
      // No write of this batch is acknowledged, and no caller waits forever.
      for (const job of batch) job.reject(translateSqliteError(error));
      try {
        if (writer.isTransaction) writer.exec('rollback');
      } catch {
        // The next batch starts from the beginning, or fails with the same error.
      }
      return;
    }
    isDiskBroken = false;
    for (const settle of outcomes) settle();
  }

  const readsWith = (statement: typeof read) => ({
    engine: 'sqlite' as const,
    isSpread: false,
    all: async <Row>(sql: string, params: readonly Param[] = []) =>
      translated(() => statement(sql).all(...bound(params)) as Row[]),
    one: async <Row>(sql: string, params: readonly Param[] = []) =>
      translated(() => statement(sql).get(...bound(params)) as Row | undefined),
  });

  async function openSnapshot(): Promise<Snapshot> {
    const connection = translated(openReader);
    connection.exec('begin');
    return {
      ...readsWith(statements(connection)),
      close() {
        if (connection.isOpen) connection.close();
      },
    };
  }

  /** A full-text index keeps the words of deleted rows until it is merged. In small steps: others write in between. */
  async function mergeAll(index: string): Promise<void> {
    const changes = () => (write('select total_changes() as total').get() as { total: number }).total;
    // The first step begins a merge of the whole index, the others continue it.
    for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
      const changed = await enqueue('statement', async () => {
        const before = changes();
        write(`insert into ${index} (${index}, rank) values ('merge', ${pages})`).run();
        return changes() - before;
      });
      if (changed < 2) return;
    }
  }

  const reads = readsWith(read);
  return {
    ...reads,
    run: <Row>(sql: string, params: readonly Param[] = []) =>
      enqueue('statement', async () => write(sql).all(...bound(params)) as Row[]),
    write: (sql, params) => enqueue('statement', async () => writeNow(sql, params)),
    newIds: () => Promise.reject(new Error('SQLite draws numbers only in a transaction')),
    transaction: withEffects((work) => enqueue('transaction', work)),
    snapshot: openSnapshot,
    urgent: reads,
    async script(sql, indexes = []) {
      try {
        writer.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
        const statements = [...indexes, ...splitStatements(sql)];
        for (const statement of ['begin', ...statements, 'commit']) writer.exec(statement);
      } catch (error) {
        if (writer.isTransaction) writer.exec('rollback');
        throw translateSqliteError(error);
      } finally {
        writer.exec('pragma busy_timeout = 0');
      }
    },
    async announce() {},
    countAnnounced: async () => 1,
    engineProblem: async () => undefined,
    async scrub() {
      for (const index of FULL_TEXT_INDEXES) await mergeAll(index);
      while (flushing) await flushing;
      const [done] = writer.prepare('pragma wal_checkpoint(truncate)').all() as { busy: number }[];
      return done?.busy === 0;
    },
    async exclusively(name, work, waitMs) {
      const release = await lockExclusively(dataDir, name, waitMs);
      try {
        return await work();
      } finally {
        release();
      }
    },
    // The listeners' work is not part of the request that signals.
    signal: (topic) => withoutDeadline(() => signals.emit(topic)),
    listen(topic, onSignal) {
      signals.on(topic, onSignal);
      return () => signals.off(topic, onSignal);
    },
    async canWrite() {
      // Nothing uses the number: it is written, like any other change.
      const tryToWrite = async () => void writer.exec('pragma user_version = 0');
      if (isDiskBroken) await enqueue('statement', tryToWrite).catch(() => {});
      return !isDiskBroken;
    },
    connections: () => ({
      inUse: flushing ? 1 : 0,
      idle: flushing ? 0 : 1,
      waiting: queue.length,
      max: 1,
    }),
    async close() {
      while (flushing) await flushing;
      reader.close();
      writer.close();
      release();
    },
  };
}

/** Prepares each text once. `$1` becomes `?1`, which binds by position. */
function statements(connection: DatabaseSync) {
  const prepared = new Map<string, StatementSync>();
  return (sql: string): StatementSync => {
    let statement = prepared.get(sql);
    if (!statement) {
      statement = connection.prepare(sql.replace(/\$(\d+)/g, '?$1'));
      prepared.set(sql, statement);
    }
    return statement;
  };
}

/** SQLite has no arrays: a list of ids is passed as JSON. */
const bound = (params: readonly Param[]) =>
  params.map((param) => (typeof param === 'object' && param !== null ? JSON.stringify(param) : param));
