import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';
import { CHANGES, type Database } from '../database/database.ts';
import { readVersions, TOPICS, type Topic, type Versions } from './versions.ts';

/** Told of each topic that has moved on, with the inbox's version. */
export interface Listener {
  moved(topics: readonly Topic[], inboxVersion: string): void;
  beat(): void;
  end(): void;
}

/** Who listens in this process, and what they have been told. */
export interface Hub {
  /** Whatever changes after the versions that it gives is told. Gives nothing once the hub is closed. */
  join(merchantId: MerchantId, listener: Listener): Promise<Versions | undefined>;
  leave(merchantId: MerchantId, listener: Listener): void;
  close(): void;
}

/** Changes in a row are looked at once: a hundred writes cost one query. */
const TOGETHER_MS = 20;
/** Catches writes that nobody announced: of a command beside the embedded database, or while signals were away. */
const LOOK_EVERY_MS = 5000;
const BEAT_EVERY_MS = 15_000;

export function createHub({ database, log }: { database: Database; log: Logger }): Hub {
  const rooms = new Map<MerchantId, { versions: Versions; listeners: Set<Listener> }>();
  let looking = false;
  let due: NodeJS.Timeout | undefined;
  let closed = false;

  const deaf = database.listen(CHANGES, soon);
  const looks = setInterval(soon, LOOK_EVERY_MS).unref();
  const beats = setInterval(() => {
    for (const listener of everybody()) listener.beat();
  }, BEAT_EVERY_MS).unref();

  function soon(): void {
    if (due || closed || rooms.size === 0) return;
    due = setTimeout(look, TOGETHER_MS);
    due.unref();
  }

  async function look(): Promise<void> {
    due = undefined;
    // What was signalled during a look may have come too late for its query.
    if (looking) return soon();
    looking = true;
    try {
      const current = await readVersions(database, [...rooms.keys()]);
      for (const [merchantId, versions] of current) tell(merchantId, versions);
    } catch (err) {
      log.warn({ err }, 'changes cannot be read; it is tried again');
    } finally {
      looking = false;
    }
  }

  function tell(merchantId: MerchantId, versions: Versions): void {
    const room = rooms.get(merchantId);
    if (!room) return;
    const moved = TOPICS.filter((topic) => versions[topic] !== room.versions[topic]);
    room.versions = versions;
    if (moved.length === 0) return;
    for (const listener of [...room.listeners]) listener.moved(moved, versions.inbox);
  }

  const everybody = () => [...rooms.values()].flatMap(({ listeners }) => [...listeners]);

  function leave(merchantId: MerchantId, listener: Listener): void {
    const room = rooms.get(merchantId);
    room?.listeners.delete(listener);
    if (room?.listeners.size === 0) rooms.delete(merchantId);
  }

  return {
    async join(merchantId, listener) {
      if (closed) return undefined;
      const versions = (await readVersions(database, [merchantId])).get(merchantId)!;
      if (closed) return undefined;
      const room = rooms.get(merchantId);
      if (room) {
        // The others may not have been told of these yet: the next look compares with theirs, and tells all.
        room.listeners.add(listener);
      } else {
        rooms.set(merchantId, { versions, listeners: new Set([listener]) });
      }
      // Something may have changed since they were read, when nobody here would have looked.
      soon();
      return versions;
    },
    leave,
    close() {
      closed = true;
      deaf();
      clearInterval(looks);
      clearInterval(beats);
      clearTimeout(due);
      for (const listener of everybody()) listener.end();
      rooms.clear();
    },
  };
}
