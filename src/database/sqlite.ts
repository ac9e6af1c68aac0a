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
const BUSY_AGAIN_MS = 10;
const TURN_WAIT_MAX_MS = 30_000;
const TURN_RETRY_MS = 20;

type Job = {
  work: (tx: Transaction) => Promise<unknown>;
  /** One statement is atomic by itself; several need a savepoint to be undone by. */
  savepoint: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

export const databaseFile = (dataDir: string) => join(dataDir, 'deskbell.db');

interface SqliteOptions {
  /** Only one server may run on a data folder; commands may join it. */
  lock: boolean;
}

/**
 * The embedded database. Reads run on a connection of their own and see committed data alone. Writes that
 * arrive together share one commit, and with it one fsync; none is acknowledged before that.
 */
export function openSqlite(dataDir: string, { lock }: SqliteOptions): Database {
  const [writer, release] = openFolder(dataDir, lock);
  const reader = new DatabaseSync(databaseFile(dataDir), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  const read = statements(reader);
  const write = statements(writer);
  const reading = <T>(look: () => T): T => {
    try {
      return look();
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
    // Transactions run one after another here.
    tryLock: async () => true,
    lock: async () => {},
  };

  /** One process has the folder: its own signals are all there are. */
  const signals = new EventEmitter();
  let queue: Job[] = [];
  let flushing: Promise<void> | undefined;

  function enqueue<T>(work: (tx: Transaction) => Promise<T>, savepoint: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      queue.push({ work, savepoint, resolve: resolve as Job['resolve'], reject });
      // Wait for the end of this turn of the event loop: its other writes join the same commit.
      flushing ??= new Promise<void>((done) => setImmediate(done)).then(flush);
    });
  }

  async function flush(): Promise<void> {
    try {
      while (queue.length > 0) {
        const batch = queue;
        queue = [];
        await commitTogether(batch);
      }
    } finally {
      flushing = undefined;
    }
  }

  /** A command that writes at this moment is waited for, while reads and all else go on. */
  async function beginWriting(): Promise<void> {
    const patience = performance.now() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        writer.exec('begin immediate');
        return;
      } catch (error) {
        if (resultCode(error) !== SQLITE_BUSY || performance.now() > patience) throw error;
        await sleep(BUSY_AGAIN_MS);
      }
    }
  }

  async function commitTogether(batch: Job[]): Promise<void> {
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
          // A full disk rolls everything back by itself: then nothing of this batch may be acknowledged.
          if (!writer.isTransaction) throw error;
          if (job.savepoint) writer.exec('rollback to job; release job');
          outcomes.push(() => job.reject(translate(error)));
        }
      }
      writer.exec('commit');
    } catch (error) {
      // Whatever the disk does: nobody of this batch is told that it is written, and nobody waits forever.
      for (const job of batch) job.reject(translate(error));
      try {
        if (writer.isTransaction) writer.exec('rollback');
      } catch {
        // The next batch begins anew, or is told what is wrong.
      }
      return;
    }
    for (const settle of outcomes) settle();
  }

  return {
    engine: 'sqlite',
    all: async <Row>(sql: string, params: readonly Param[] = []) =>
      reading(() => read(sql).all(...bound(params)) as Row[]),
    one: async <Row>(sql: string, params: readonly Param[] = []) =>
      reading(() => read(sql).get(...bound(params)) as Row | undefined),
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
      const release = await takeTurn(dataDir);
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
    throw new DatabaseProblem(`The data folder ${dataDir} cannot be made: ${reason(cause)}.`, { cause });
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK);
  } catch (cause) {
    throw new DatabaseProblem(`The data folder ${dataDir} cannot be written: ${reason(cause)}.`, { cause });
  }
  const release = lock ? lockFolder(dataDir) : () => {};
  try {
    const writer = new DatabaseSync(databaseFile(dataDir), { timeout: BUSY_TIMEOUT_MS });
    // FULL: a commit is on the disk before it is acknowledged, so not even a power cut loses it.
    writer.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
    // From here on a lock is waited for without holding everything else up: see `beginWriting`.
    writer.exec('pragma busy_timeout = 0');
    return [writer, release];
  } catch (cause) {
    release();
    throw new DatabaseProblem(`The database in ${dataDir} cannot be opened: ${reason(cause)}.`, { cause });
  }
}

/** A lock of the operating system's, which ends with its process however that ends. */
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

/** One server serves a folder, but commands run beside it, and a second may be starting. */
async function takeTurn(dataDir: string): Promise<() => void> {
  const holder = new DatabaseSync(join(dataDir, 'turn.lock'));
  for (let waitedMs = 0; waitedMs < TURN_WAIT_MAX_MS; waitedMs += TURN_RETRY_MS) {
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
      await sleep(TURN_RETRY_MS);
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
/** Busy, locked, read-only, I/O error, full, cannot open: the disk's state, not the statement's fault. */
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
