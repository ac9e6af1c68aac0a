import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';
import { CHANGES, type Database } from '../database/database.ts';
import { readVersions, TOPICS, type Topic, type VersionReaders, type Versions } from './versions.ts';

export interface Subscriber {
  /** Called with the topics that changed, and the version of the inbox. */
  changed(topics: readonly Topic[], inboxVersion: string): void;
  keepAlive(): void;
  end(): void;
}

/** The subscribers of this process, by merchant. */
export interface Hub {
  /** Returns the current versions: every later change is reported. Returns undefined once the hub is closed. */
  join(merchantId: MerchantId, subscriber: Subscriber): Promise<Versions | undefined>;
  leave(merchantId: MerchantId, subscriber: Subscriber): void;
  close(): void;
}

/** Changes within this time are read together: a hundred writes cost one query per topic. */
const READ_DELAY_MS = 20;
/** Finds changes without a signal: from a command on the embedded database, or while signals were disconnected. */
const READ_EVERY_MS = 5000;
const KEEP_ALIVE_EVERY_MS = 15_000;

export interface HubParts {
  database: Database;
  readers: VersionReaders;
  log: Logger;
}

export function createHub({ database, readers, log }: HubParts): Hub {
  const rooms = new Map<MerchantId, { versions: Versions; subscribers: Set<Subscriber> }>();
  let reading = false;
  let readTimer: NodeJS.Timeout | undefined;
  let closed = false;

  const unsubscribe = database.listen(CHANGES, readSoon);
  const readInterval = setInterval(readSoon, READ_EVERY_MS).unref();
  const keepAliveInterval = setInterval(() => {
    for (const subscriber of allSubscribers()) subscriber.keepAlive();
  }, KEEP_ALIVE_EVERY_MS).unref();

  function readSoon(): void {
    if (readTimer || closed || rooms.size === 0) return;
    readTimer = setTimeout(readChanges, READ_DELAY_MS);
    readTimer.unref();
  }

  async function readChanges(): Promise<void> {
    readTimer = undefined;
    // A change that was signalled during a read may be missing from it.
    if (reading) return readSoon();
    reading = true;
    try {
      const current = await readVersions(database, readers, [...rooms.keys()]);
      for (const [merchantId, versions] of current) report(merchantId, versions);
    } catch (err) {
      log.warn({ err }, 'cannot read changes; will retry');
    } finally {
      reading = false;
    }
  }

  function report(merchantId: MerchantId, versions: Versions): void {
    const room = rooms.get(merchantId);
    if (!room) return;
    const changed = TOPICS.filter((topic) => versions[topic] !== room.versions[topic]);
    room.versions = versions;
    if (changed.length === 0) return;
    for (const subscriber of [...room.subscribers]) subscriber.changed(changed, versions.inbox);
  }

  const allSubscribers = () => [...rooms.values()].flatMap(({ subscribers }) => [...subscribers]);

  function leave(merchantId: MerchantId, subscriber: Subscriber): void {
    const room = rooms.get(merchantId);
    room?.subscribers.delete(subscriber);
    if (room?.subscribers.size === 0) rooms.delete(merchantId);
  }

  return {
    async join(merchantId, subscriber) {
      if (closed) return undefined;
      const versions = (await readVersions(database, readers, [merchantId])).get(merchantId)!;
      if (closed) return undefined;
      const room = rooms.get(merchantId);
      if (room) {
        // The room keeps its older versions: the next read compares with them, and reports changes to everyone in it.
        room.subscribers.add(subscriber);
      } else {
        rooms.set(merchantId, { versions, subscribers: new Set([subscriber]) });
      }
      // A change may have been missed between reading the versions and creating the room.
      readSoon();
      return versions;
    },
    leave,
    close() {
      closed = true;
      unsubscribe();
      clearInterval(readInterval);
      clearInterval(keepAliveInterval);
      clearTimeout(readTimer);
      for (const subscriber of allSubscribers()) subscriber.end();
      rooms.clear();
    },
  };
}
