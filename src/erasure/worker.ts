import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CHANGES, type Database, DatabaseUnavailable } from '../database/database.ts';
import { eraseStep } from './erase.ts';
import { deleteDueMerchant } from './merchant.ts';
import { type Erasure, moveErasure, takeErasure } from './store.ts';

interface EraserParts {
  database: Database;
  log: Logger;
  now: () => Date;
}

export interface Eraser {
  stop(): Promise<void>;
}

/** Signals may be lost with their connection. */
const POLL_MS = 1000;
/** If a worker dies, another goes on after this time. */
const LEASE_MS = 60_000;
const RENEW_AFTER_MS = 15_000;
const RETRY_MS = 30_000;

class Stopped extends Error {}

/** Does what is left of every erasure, and deletes merchants. */
export function startEraser({ database, log, now }: EraserParts): Eraser {
  let stopped = false;
  let again = false;
  let running: Promise<void> | undefined;
  let failing = false;

  function look(): void {
    again = true;
    if (running || stopped) return;
    running = work().finally(() => {
      running = undefined;
    });
  }

  async function work(): Promise<void> {
    try {
      while (again && !stopped) {
        again = false;
        for (let erasure = await take(); erasure && !stopped; erasure = await take()) await eraseOne(erasure);
        while (!stopped && (await deleteDueMerchant({ database, now, isStopped: () => stopped })));
      }
      failing = false;
    } catch (err) {
      // Once per outage.
      if (!failing) log.warn({ err }, 'cannot erase; will retry');
      failing = true;
    }
  }

  const take = () => takeErasure(database, now(), leaseEnd());
  const leaseEnd = () => new Date(now().getTime() + LEASE_MS);

  async function eraseOne(erasure: Erasure): Promise<void> {
    const { merchantId, id, step } = erasure;
    let renewedMs = performance.now();
    const pause = async () => {
      await nextTurn();
      if (stopped) throw new Stopped();
      if (performance.now() - renewedMs < RENEW_AFTER_MS) return;
      renewedMs = performance.now();
      await moveErasure(database, merchantId, id, { step, dueAt: leaseEnd() });
    };
    try {
      await eraseStep({ database, now, pause }, erasure);
    } catch (err) {
      if (err instanceof DatabaseUnavailable) throw err;
      // Another process goes on at once.
      const dueAt = err instanceof Stopped ? now() : new Date(now().getTime() + RETRY_MS);
      if (!(err instanceof Stopped))
        log.error({ err, merchant_id: merchantId }, 'cannot erase a customer; will retry');
      await moveErasure(database, merchantId, id, { step, dueAt });
    }
  }

  const stopListening = database.listen(CHANGES, look);
  const poll = setInterval(look, POLL_MS).unref();
  look();
  return {
    async stop() {
      stopped = true;
      stopListening();
      clearInterval(poll);
      await running;
    },
  };
}
