import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../database.ts';
import { runStep } from './changes.ts';
import { MIGRATIONS, readMigrations } from './files.ts';

export interface ChangeWorker {
  stop(): Promise<void>;
}

interface ChangeWorkerOptions {
  database: Database;
  log: Logger;
  now: () => Date;
  folder?: URL;
}

/** A newer server may have migrated meanwhile, or the worker that did it has died. */
const LOOK_EVERY_MS = 10_000;
/** Between two steps everybody else has at least as much time as the step took. */
const PAUSE_MIN_MS = 5;

/** Makes the changes of `background_changes`, step by step. Several workers take turns. */
export function startChangeWorker(options: ChangeWorkerOptions): ChangeWorker {
  const { database, log, now, folder = MIGRATIONS } = options;
  // Once: reading all of them takes 25 ms, in which nobody else is served.
  const known = readMigrations(database.engine, folder);
  const stopping = new AbortController();
  let failing = false;

  async function runAll(): Promise<void> {
    try {
      for (;;) {
        const startedAt = performance.now();
        const rows = await runStep(database, now, known);
        failing = false;
        if (rows === undefined || stopping.signal.aborted) return;
        await pause(Math.max(PAUSE_MIN_MS, performance.now() - startedAt));
      }
    } catch (err) {
      // Once per outage.
      if (!failing) log.warn({ err }, 'cannot change old rows in the background; will retry');
      failing = true;
    }
  }

  const pause = (ms: number) =>
    sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await runAll();
      await pause(LOOK_EVERY_MS);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
