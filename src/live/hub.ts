import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';
import { CHANGES, type Database } from '../database/database.ts';
import {
  type LoggedEvent,
  lastPosition,
  lastPositions,
  numberBatch,
  readEvents,
  withNewEvents,
} from '../events/log.ts';
import { readVersions, TOPICS, type Topic, type VersionReader, type Versions } from './versions.ts';

export interface Subscriber {
  /** Called with the topics that changed. */
  changed?(topics: readonly Topic[]): void;
  /** Called with new events, oldest first. Only subscribers with this method make the hub read them. */
  logged?(events: readonly LoggedEvent[]): void;
  keepAlive?(): void;
  /** The server stops. */
  end(reconnectInMs: number): void;
}

/** The subscribers of this process, by merchant. */
export interface Hub {
  /** Listens to other processes. Called before the first client connects, or by the first. */
  start(): void;
  /** Every change after this has resolved is reported. False once the hub is closed. */
  join(merchantId: MerchantId, subscriber: Subscriber): Promise<boolean>;
  leave(merchantId: MerchantId, subscriber: Subscriber): void;
  close(): void;
}

/** Changes within this time are read together: a hundred writes cost one query per feature. */
const READ_DELAY_MS = 20;
/** Finds changes without a signal: from a command on the embedded database, or while signals were disconnected. */
const READ_EVERY_MS = 5000;
const KEEP_ALIVE_EVERY_MS = 15_000;
const EVENTS_AT_ONCE = 200;
/** Browsers wait for three seconds or more unless told, then all at the same time. */
const RECONNECT_MAX_MS = 1000;

export interface HubParts {
  database: Database;
  readers: readonly VersionReader[];
  log: Logger;
}

interface Room {
  versions: Versions;
  subscribers: Set<Subscriber>;
  /** The last event that was reported. Absent until somebody wants events. */
  position: number | undefined;
}

export function createHub({ database, readers, log }: HubParts): Hub {
  const rooms = new Map<MerchantId, Room>();
  let reading = false;
  let readTimer: NodeJS.Timeout | undefined;
  let reportingEvents = false;
  let reportAgain = false;
  let closed = false;
  let stop: (() => void) | undefined;

  function start(): void {
    if (stop || closed) return;
    const unsubscribe = database.listen(CHANGES, readSoon);
    const readInterval = setInterval(readSoon, READ_EVERY_MS).unref();
    const keepAliveInterval = setInterval(() => {
      for (const subscriber of allSubscribers()) subscriber.keepAlive?.();
    }, KEEP_ALIVE_EVERY_MS).unref();
    stop = () => {
      unsubscribe();
      clearInterval(readInterval);
      clearInterval(keepAliveInterval);
    };
  }

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
      for (const [merchantId, versions] of current) reportChanges(merchantId, versions);
    } catch (err) {
      log.warn({ err }, 'cannot read changes; will retry');
    } finally {
      reading = false;
    }
    // Apart from the changes: a merchant with many events must not delay those of the others.
    void reportEvents();
  }

  function reportChanges(merchantId: MerchantId, versions: Versions): void {
    const room = rooms.get(merchantId);
    if (!room) return;
    const changed = TOPICS.filter((topic) => versions[topic] !== room.versions[topic]);
    room.versions = versions;
    if (changed.length === 0) return;
    for (const subscriber of [...room.subscribers]) subscriber.changed?.(changed);
  }

  async function reportEvents(): Promise<void> {
    if (reportingEvents) {
      reportAgain = true;
      return;
    }
    reportingEvents = true;
    try {
      do {
        reportAgain = false;
        await reportOnce();
      } while (reportAgain && !closed);
    } catch (err) {
      log.warn({ err }, 'cannot read events; will retry');
    } finally {
      reportingEvents = false;
    }
  }

  /** One batch of each merchant. */
  async function reportOnce(): Promise<void> {
    const merchantIds = [...rooms].flatMap(([id, { position }]) => (position === undefined ? [] : [id]));
    if (merchantIds.length === 0) return;
    for (const id of await withNewEvents(database, merchantIds)) {
      if (await numberBatch(database, id)) reportAgain = true;
    }
    // Another process may have numbered them.
    for (const [id, last] of await lastPositions(database, merchantIds)) {
      const room = rooms.get(id);
      if (room?.position === undefined || room.position >= last) continue;
      const events = await readEvents(database, id, { after: room.position, limit: EVENTS_AT_ONCE });
      // The oldest may have been removed already.
      room.position = events.at(-1)?.id ?? last;
      if (room.position < last) reportAgain = true;
      if (events.length > 0) for (const subscriber of [...room.subscribers]) subscriber.logged?.(events);
    }
  }

  const allSubscribers = () => [...rooms.values()].flatMap(({ subscribers }) => [...subscribers]);

  function leave(merchantId: MerchantId, subscriber: Subscriber): void {
    const room = rooms.get(merchantId);
    if (!room) return;
    room.subscribers.delete(subscriber);
    if (room.subscribers.size === 0) rooms.delete(merchantId);
    else if (![...room.subscribers].some(({ logged }) => logged)) room.position = undefined;
  }

  return {
    start,
    async join(merchantId, subscriber) {
      if (closed) return false;
      start();
      const wantsEvents = subscriber.logged !== undefined;
      const versions = (await readVersions(database, readers, [merchantId])).get(merchantId)!;
      const position = wantsEvents ? await lastPosition(database, merchantId) : undefined;
      if (closed) return false;
      const room = rooms.get(merchantId);
      if (room) {
        // The room keeps its older versions: the next read compares with them, and reports changes to everyone in it.
        room.subscribers.add(subscriber);
        room.position ??= position;
      } else {
        rooms.set(merchantId, { versions, position, subscribers: new Set([subscriber]) });
      }
      // A change may have been missed between reading the versions and creating the room.
      readSoon();
      return true;
    },
    leave,
    close() {
      closed = true;
      stop?.();
      clearTimeout(readTimer);
      for (const subscriber of allSubscribers()) subscriber.end(Math.round(Math.random() * RECONNECT_MAX_MS));
      rooms.clear();
    },
  };
}
