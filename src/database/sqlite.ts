import { EventEmitter } from 'node:events';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { runSteps, type Step } from './chain.ts';
import {
  type Database,
  DatabaseProblem,
  DatabaseUnavailable,
  type Param,
  type Transaction,
} from './database.ts';
import { splitStatements } from './statements.ts';

const BUSY_TIMEOUT_MS = 5000;
const BUSY_RETRY_MS = 10;
const EXCLUSIVE_WAIT_MAX_MS = 30_000;
const EXCLUSIVE_RETRY_MS = 20;

type Job = {
  work: (tx: Transaction) => Promise<unknown>;
  /** One statement is atomic on its own; several need a savepoint, so that they can be rolled back. */
  savepoint: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

export const databaseFile = (dataDir: string) => join(dataDir, 'deskbell.db');

interface SqliteOptions {
  /** Only one server may use a data folder; commands may run beside it. */
  lock: boolean;
}

/**
 * The embedded database. Reads have a separate connection and see committed data only. Writes that arrive at the same
 * time share one commit, and with it one fsync. None is acknowledged before that.
 */
export function openSqlite(dataDir: string, { lock }: SqliteOptions): Database {
  const [writer, release] = openFolder(dataDir, lock);
  const reader = new DatabaseSync(databaseFile(dataDir), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  const read = statements(reader);
  const write = statements(writer);
  const translated = <T>(query: () => T): T => {
    try {
      return query();
    } catch (error) {
      throw translate(error);
    }
  };

  const tx: Transaction = {
    engine: 'sqlite',
    all: async <Row>(sql: string, params: readonly Param[] = []) => write(sql).all(...bound(params)) as Row[],
    one: async <Row>(sql: string, params: readonly Param[] = []) =>
      write(sql).get(...bound(params)) as Row | undefined,
    run: async <Row>(sql: string, params: readonly Param[] = []) => write(sql).all(...bound(params)) as Row[],
    chain: async <Row>(steps: readonly Step[]) =>
      runSteps<Row>(steps, (sql, params) => write(sql).get(...bound(params))),
    // SQLite runs transactions one after another.
    tryLock: async () => true,
    lock: async () => {},
  };

  /** One process uses the folder, so signals stay within it. */
  const signals = new EventEmitter();
  let queue: Job[] = [];
  let flushing: Promise<void> | undefined;

  function enqueue<T>(work: (tx: Transaction) => Promise<T>, savepoint: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      queue.push({ work, savepoint, resolve: resolve as Job['resolve'], reject });
      // Wait for the end of this turn of the event loop: its other writes share the commit.
      flushing ??= new Promise<void>((done) => setImmediate(done)).then(flush);
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

  /** Waits for a command that is writing, without blocking reads and the event loop. */
  async function beginWriting(): Promise<void> {
    const waitUntil = performance.now() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        writer.exec('begin immediate');
        return;
      } catch (error) {
        if (resultCode(error) !== SQLITE_BUSY || performance.now() > waitUntil) throw error;
        await sleep(BUSY_RETRY_MS);
      }
    }
  }

  async function commitBatch(batch: Job[]): Promise<void> {
    const outcomes: (() => void)[] = [];
    try {
      await beginWriting();
      for (const job of batch) {
        try {
          if (job.savepoint) writer.exec('savepoint job');
          const value = await job.work(tx);
          if (job.savepoint) writer.exec('release job');
          outcomes.push(() => job.resolve(value));
        } catch (error) {
          // When the disk is full SQLite rolls everything back: then nothing of this batch may be acknowledged.
          if (!writer.isTransaction) throw error;
          if (job.savepoint) writer.exec('rollback to job; release job');
          outcomes.push(() => job.reject(translate(error)));
        }
      }
      writer.exec('commit');
    } catch (error) {
      // No write of this batch is acknowledged, and no caller waits forever.
      for (const job of batch) job.reject(translate(error));
      try {
        if (writer.isTransaction) writer.exec('rollback');
      } catch {
        // The next batch starts from the beginning, or fails with the same error.
      }
      return;
    }
    for (const settle of outcomes) settle();
  }

  return {
    engine: 'sqlite',
    all: async <Row>(sql: string, params: readonly Param[] = []) =>
      translated(() => read(sql).all(...bound(params)) as Row[]),
    one: async <Row>(sql: string, params: readonly Param[] = []) =>
      translated(() => read(sql).get(...bound(params)) as Row | undefined),
    run: <Row>(sql: string, params: readonly Param[] = []) =>
      enqueue(async () => write(sql).all(...bound(params)) as Row[], false),
    chain: (steps) => enqueue((own) => own.chain(steps), true),
    transaction: (work) => enqueue(work, true),
    async script(sql) {
      try {
        writer.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
        for (const statement of ['begin', ...splitStatements(sql), 'commit']) writer.exec(statement);
      } catch (error) {
        if (writer.isTransaction) writer.exec('rollback');
        throw translate(error);
      } finally {
        writer.exec('pragma busy_timeout = 0');
      }
    },
    async exclusively(_name, work) {
      const release = await lockExclusively(dataDir);
      try {
        return await work();
      } finally {
        release();
      }
    },
    signal: (topic) => signals.emit(topic),
    listen(topic, onSignal) {
      signals.on(topic, onSignal);
      return () => signals.off(topic, onSignal);
    },
    async close() {
      while (flushing) await flushing;
      reader.close();
      writer.close();
      release();
    },
  };
}

function openFolder(dataDir: string, lock: boolean): [DatabaseSync, release: () => void] {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new DatabaseProblem(`The data folder ${dataDir} cannot be created: ${reason(cause)}.`, { cause });
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK);
  } catch (cause) {
    throw new DatabaseProblem(`The data folder ${dataDir} cannot be written: ${reason(cause)}.`, { cause });
  }
  const release = lock ? lockFolder(dataDir) : () => {};
  try {
    const writer = new DatabaseSync(databaseFile(dataDir), { timeout: BUSY_TIMEOUT_MS });
    // FULL: a commit is on the disk before it is acknowledged, so a power cut does not lose it.
    writer.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
    // From here on we wait for locks without blocking everything else: see `beginWriting`.
    writer.exec('pragma busy_timeout = 0');
    return [writer, release];
  } catch (cause) {
    release();
    throw new DatabaseProblem(`The database in ${dataDir} cannot be opened: ${reason(cause)}.`, { cause });
  }
}

/** A lock of the operating system, which is released when the process ends, even if it is killed. */
function lockFolder(dataDir: string): () => void {
  try {
    const holder = new DatabaseSync(join(dataDir, 'server.lock'));
    holder.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive');
    return () => holder.close();
  } catch (cause) {
    throw new DatabaseProblem(
      resultCode(cause) === SQLITE_BUSY
        ? `The data folder ${dataDir} is in use by another Deskbell. Stop it, or set DATA_DIR to another folder.`
        : `The data folder ${dataDir} cannot be written: ${reason(cause)}.`,
      { cause },
    );
  }
}

/** One server uses a folder, but commands run beside it, and a second server may be starting. */
async function lockExclusively(dataDir: string): Promise<() => void> {
  const holder = new DatabaseSync(join(dataDir, 'turn.lock'));
  for (let waitedMs = 0; waitedMs < EXCLUSIVE_WAIT_MAX_MS; waitedMs += EXCLUSIVE_RETRY_MS) {
    try {
      holder.exec('pragma journal_mode = memory; begin exclusive');
      return () => holder.close();
    } catch (cause) {
      if (resultCode(cause) !== SQLITE_BUSY) {
        holder.close();
        throw new DatabaseProblem(`The data folder ${dataDir} cannot be written: ${reason(cause)}.`, {
          cause,
        });
      }
      await sleep(EXCLUSIVE_RETRY_MS);
    }
  }
  holder.close();
  throw new DatabaseProblem(`Another Deskbell is busy with the database in ${dataDir}. Try again.`);
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

/** SQLite has no arrays: a list of ids travels as JSON. */
const bound = (params: readonly Param[]) =>
  params.map((param) => (typeof param === 'object' && param !== null ? JSON.stringify(param) : param));

const SQLITE_BUSY = 5;
/** Busy, locked, read-only, I/O error, full, cannot open: problems of the disk, not of the statement. */
const UNAVAILABLE = new Set([SQLITE_BUSY, 6, 8, 10, 13, 14]);
/** Malformed, not a database. */
const DAMAGED = new Set([11, 26]);

function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
}

function translate(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (UNAVAILABLE.has(code))
    return new DatabaseUnavailable('the embedded database cannot write', { cause: error });
  return DAMAGED.has(code)
    ? new DatabaseProblem(`The embedded database is damaged: ${reason(error)}. Restore it from a backup.`, {
        cause: error,
      })
    : error;
}

function reason(error: unknown): string {
  const { code, errstr, message } = error as { code?: string; errstr?: string; message: string };
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'permission denied';
  return errstr ?? message;
}
