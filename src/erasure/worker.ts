import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';
import { CHANGES, type Database, DatabaseUnavailable } from '../database/database.ts';
import { listDeleting } from '../merchants/delete.ts';
import { AGAIN_AFTER_MS, eraseStep } from './erase.ts';
import { deleteSome } from './merchant.ts';
import { createPause, Stopped } from './pause.ts';
import { type Erasure, LEASE_MS, moveErasure, takeErasure } from './store.ts';
import type { ChannelsOf } from './windows.ts';

interface EraserParts {
  database: Database;
  channelsOf: ChannelsOf;
  log: Logger;
  now: () => Date;
}

export interface Eraser {
  stop(): Promise<void>;
}

/** Signals may be lost with their connection. */
const POLL_MS = 1000;
/** Erasures at a time, each of another merchant: a long one does not delay the others. */
const LANES = 3;
/** After a failure it waits half as long as it has taken so far, so that the pauses grow. */
const PAUSE_MS = { min: 1000, max: 10 * 60_000 };

/** Does what is left of every erasure, and deletes merchants. */
export function startEraser({ database, channelsOf, log, now }: EraserParts): Eraser {
  let stopped = false;
  let failing = false;
  /** The merchants whose customers are being erased here. */
  const busy = new Set<MerchantId>();
  /** The last one that had a turn: the next turn is for the one after it. */
  let last = 0;
  /** When to go on with deletions that have failed, or wait for the last requests to end. */
  const goesOnAt = new Map<MerchantId, number>();

  const leaseUntil = () => new Date(now().getTime() + LEASE_MS);
  const pauseEnd = (since: string) => {
    const pauseMs = (now().getTime() - Date.parse(since)) / 2;
    return new Date(now().getTime() + Math.min(Math.max(pauseMs, PAUSE_MS.min), PAUSE_MS.max));
  };

  /** One step of every erasure that is due, and of those that become due meanwhile. */
  async function eraseDue(): Promise<void> {
    while (!stopped) {
      const others = { after: last, except: [...busy] };
      const erasure = await takeErasure(database, { at: now(), leaseUntil: leaseUntil() }, others);
      if (!erasure) return;
      const { merchantId } = erasure;
      last = merchantId;
      busy.add(merchantId);
      try {
        await eraseOne(erasure);
      } finally {
        busy.delete(merchantId);
      }
    }
  }

  async function eraseOne(erasure: Erasure): Promise<void> {
    const { merchantId, id, step, createdAt } = erasure;
    const pause = createPause({ database, now }, erasure, () => stopped);
    try {
      await eraseStep({ database, channelsOf, now, pause }, erasure);
    } catch (err) {
      if (err instanceof DatabaseUnavailable) throw err;
      // Another process goes on at once.
      if (err instanceof Stopped) return moveErasure(database, merchantId, id, { step, dueAt: now() });
      log.error(
        { error: nameOf(err), merchant_id: merchantId, erasure_id: id, step },
        'cannot erase a person; will retry',
      );
      await moveErasure(database, merchantId, id, { step, dueAt: pauseEnd(createdAt) });
    }
  }

  /** Some batches of every merchant that is being deleted, in turn, as long as there are any. */
  async function deleteDue(): Promise<void> {
    const isStopped = () => stopped;
    for (let isMore = true; isMore && !stopped; ) {
      isMore = false;
      for (const merchant of await listDeleting(database)) {
        const { id: merchantId, deleting_at: since } = merchant;
        if ((goesOnAt.get(merchantId) ?? 0) > now().getTime()) continue;
        try {
          const done = await deleteSome({ database, channelsOf, now, isStopped }, merchant);
          isMore ||= done === 'more';
          if (done === 'later') goesOnAt.set(merchantId, Date.parse(since) + AGAIN_AFTER_MS);
          else goesOnAt.delete(merchantId);
        } catch (err) {
          if (err instanceof DatabaseUnavailable) throw err;
          log.error({ error: nameOf(err), merchant_id: merchantId }, 'cannot delete a merchant; will retry');
          goesOnAt.set(merchantId, pauseEnd(since).getTime());
        }
      }
    }
  }

  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      failing = false;
    } catch (err) {
      // Once per outage.
      if (!failing) log.warn({ error: nameOf(err) }, 'cannot erase; will retry');
      failing = true;
    }
  }

  const lanes = [...Array.from({ length: LANES }, () => eraseDue), deleteDue].map((work) =>
    createLane(() => attempt(work)),
  );
  const look = () => {
    for (const lane of lanes) lane.look();
  };
  const stopListening = database.listen(CHANGES, look);
  const poll = setInterval(look, POLL_MS).unref();
  look();
  return {
    async stop() {
      stopped = true;
      stopListening();
      clearInterval(poll);
      await Promise.all(lanes.map(({ ended }) => ended()));
    },
  };
}

/** Runs the work, and once more if somebody looked meanwhile. */
function createLane(work: () => Promise<void>) {
  let running: Promise<void> | undefined;
  let again = false;
  const run = async () => {
    while (again) {
      again = false;
      await work();
    }
  };
  return {
    look() {
      again = true;
      running ??= run().finally(() => {
        running = undefined;
      });
    },
    ended: async () => running,
  };
}

/** Never the message or the stack, which may quote the person. */
function nameOf(err: unknown): string {
  if (!(err instanceof Error)) return typeof err;
  const { code } = err as { code?: unknown };
  const { name } = err.constructor;
  return typeof code === 'string' || typeof code === 'number' ? `${name} ${String(code).slice(0, 40)}` : name;
}
