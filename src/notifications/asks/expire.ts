import type { Logger } from 'pino';
import { CHANGES, type Database } from '../../database/database.ts';
import { expire } from './end.ts';
import { findExpired } from './store.ts';

const LOOK_EVERY_MS = 1000;
const AT_ONCE = 100;

/** Ends the asks that nobody waits for any more. Any number of processes may do it: each ask expires once. */
export function expireAsks(parts: { database: Database; log: Logger; now: () => Date }): {
  stop(): Promise<void>;
} {
  const { database, log, now } = parts;
  let working: Promise<void> | undefined;
  let failing = false;

  async function look(): Promise<void> {
    try {
      for (let isLast = false; !isLast; ) {
        const due = await findExpired(database, now(), AT_ONCE);
        let expired = 0;
        for (const { merchant_id, id } of due)
          if (await expire(database, merchant_id, id, now())) expired += 1;
        if (expired > 0) database.signal(CHANGES);
        // If none of them did, another process is at work.
        isLast = due.length < AT_ONCE || expired === 0;
      }
      failing = false;
    } catch (err) {
      // Once per outage.
      if (!failing) log.warn({ err }, 'cannot expire asks; will retry');
      failing = true;
    }
  }

  const timer = setInterval(() => {
    working ??= look().finally(() => {
      working = undefined;
    });
  }, LOOK_EVERY_MS).unref();
  return {
    async stop() {
      clearInterval(timer);
      await working;
    },
  };
}
