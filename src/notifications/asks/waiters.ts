import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { withoutDeadline } from '../../database/deadline.ts';
import { findEnded } from './store.ts';

type OnEnded = (isLast?: boolean) => void;

/**
 * Calls back when an ask no longer waits, or a last time when the server stops. Costs one query per change of a merchant's
 * inbox, however many wait.
 */
export interface AskWaiters {
  add(merchantId: MerchantId, askId: number, onEnded: OnEnded): Promise<() => void>;
}

/** What the waiters need of the hub. */
export interface Rooms {
  join(merchantId: MerchantId, subscriber: RoomSubscriber): Promise<boolean>;
  leave(merchantId: MerchantId, subscriber: RoomSubscriber): void;
}
interface RoomSubscriber {
  changed(topics: readonly string[]): void;
  end(): void;
}

interface Waiting extends RoomSubscriber {
  byAsk: Map<number, Set<OnEnded>>;
  joined: Promise<boolean>;
}

const RETRY_MS = 1000;
/** Each one that is woken reads and answers. Those of one turn of the event loop share a statement, others get their turn. */
const WAKE_AT_ONCE = 16;

export function createAskWaiters(parts: { database: Database; hub: Rooms; log: Logger }): AskWaiters {
  const { database, hub, log } = parts;
  const merchants = new Map<MerchantId, Waiting>();

  function open(merchantId: MerchantId): Waiting {
    const byAsk: Waiting['byAsk'] = new Map();
    let reading = false;
    let again = false;
    const read = async () => {
      if (reading) {
        again = true;
        return;
      }
      reading = true;
      try {
        do {
          again = false;
          const ended = await findEnded(database, merchantId, [...byAsk.keys()]);
          let woken = 0;
          for (const onEnded of ended.flatMap((id) => [...(byAsk.get(id) ?? [])])) {
            onEnded();
            woken += 1;
            if (woken % WAKE_AT_ONCE === 0) await nextTurn();
          }
        } while (again);
      } catch (err) {
        log.warn({ err }, 'cannot read asks; will retry');
        setTimeout(read, RETRY_MS).unref();
      } finally {
        reading = false;
      }
    };
    const waiting: Waiting = {
      byAsk,
      joined: Promise.resolve(false),
      changed(topics) {
        if (topics.includes('inbox')) void withoutDeadline(read);
      },
      // The server closes: everybody gets what is known now.
      end() {
        for (const onEnded of [...byAsk.values()].flatMap((callbacks) => [...callbacks])) onEnded(true);
      },
    };
    waiting.joined = withoutDeadline(() => hub.join(merchantId, waiting));
    merchants.set(merchantId, waiting);
    return waiting;
  }

  function remove(merchantId: MerchantId, waiting: Waiting, askId: number, onEnded: OnEnded): void {
    const { byAsk } = waiting;
    const callbacks = byAsk.get(askId);
    callbacks?.delete(onEnded);
    if (callbacks?.size === 0) byAsk.delete(askId);
    if (byAsk.size > 0 || merchants.get(merchantId) !== waiting) return;
    merchants.delete(merchantId);
    hub.leave(merchantId, waiting);
  }

  return {
    async add(merchantId, askId, onEnded) {
      const waiting = merchants.get(merchantId) ?? open(merchantId);
      const callbacks = waiting.byAsk.get(askId) ?? new Set();
      waiting.byAsk.set(askId, callbacks.add(onEnded));
      try {
        if (!(await waiting.joined)) onEnded(true);
      } catch (error) {
        remove(merchantId, waiting, askId, onEnded);
        throw error;
      }
      return () => remove(merchantId, waiting, askId, onEnded);
    },
  };
}
