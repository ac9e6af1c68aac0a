import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import pg from 'pg';
import type { Param } from './database.ts';
import { withoutDeadline } from './deadline.ts';
import type { Hosts } from './hosts.ts';

/** LISTEN and NOTIFY, on a separate connection that reconnects when it breaks. */
export interface Signals {
  signal(topic: string): void;
  listen(topic: string, onSignal: () => void): () => void;
  /** Holds a shared lock on the name, which ends with the connection: no process that is gone is counted. */
  announce(name: string): Promise<void>;
  /** A short statement on the connection that listens. Undefined while there is none. */
  query(sql: string, params: readonly Param[]): Promise<pg.QueryResult> | undefined;
  close(): Promise<void>;
}

/** Signals within this time are sent as one: NOTIFY makes commits wait for each other. */
const NOTIFY_DELAY_MS = 10;
const RECONNECT_MS = 1000;
/** A connection that only listens does not notice that the server is gone, so we check it regularly. */
const CHECK_EVERY_MS = 2000;
const ANSWER_MAX_MS = 2000;
const CLOSE_MAX_MS = 500;

const ANNOUNCE = 'select pg_advisory_lock_shared(hashtextextended($1, 0))';
/** The processes that hold the lock. PostgreSQL keeps the number of a lock as two halves. */
export const COUNT_ANNOUNCED = `select count(*) as announced from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)`;

interface SignalParts {
  types: pg.CustomTypesConfig;
  /** Runs regularly, to see that the server still answers. */
  checkSql: string;
  notify: (topic: string) => Promise<unknown>;
}

export function createSignals(hosts: Hosts, { types, checkSql, notify }: SignalParts): Signals {
  const local = new EventEmitter().setMaxListeners(0);
  const topics = new Set<string>();
  const names = new Set<string>();
  const pendingNotifications = new Map<string, NodeJS.Timeout>();
  let client: pg.Client | undefined;
  let isConnected = false;
  let lastQuery: Promise<unknown> = Promise.resolve();
  let disconnect = async () => {};
  let connecting: Promise<void> | undefined;
  let reconnectTimer: NodeJS.Timeout | undefined;
  let checkTimer: NodeJS.Timeout | undefined;
  let closed = false;

  /** One at a time, as the driver wants it. */
  function query(on: pg.Client, sql: string, params: readonly Param[] = []): Promise<pg.QueryResult> {
    const result = lastQuery.catch(() => {}).then(() => on.query(sql, [...params]));
    lastQuery = result;
    return result;
  }

  async function connect(): Promise<void> {
    const socket = new Socket();
    const next = new hosts.Client({
      connectionString: hosts.url,
      keepAlive: true,
      types,
      connectionTimeoutMillis: ANSWER_MAX_MS,
      query_timeout: ANSWER_MAX_MS,
      application_name: 'deskbell signals',
      stream: () => socket,
    });
    const disconnectNext = () => endClient(next, socket);
    next.on('error', () => {});
    next.on('end', () => {
      isConnected = false;
      reconnectLater(next);
    });
    next.on('notification', ({ channel }) => local.emit(channel));
    client = next;
    disconnect = disconnectNext;
    try {
      await next.connect();
      for (const name of names) await query(next, ANNOUNCE, [name]);
      for (const topic of topics) await query(next, `listen ${pg.escapeIdentifier(topic)}`);
      isConnected = true;
      // Signals sent while we were disconnected are lost: every listener checks once.
      for (const topic of topics) local.emit(topic);
      checkLater(next, disconnectNext);
    } catch {
      await disconnectNext();
      reconnectLater(next);
    }
  }

  function checkLater(checked: pg.Client, disconnectChecked: () => Promise<void>): void {
    checkTimer = setTimeout(async () => {
      const answers = await query(checked, checkSql).catch(() => false);
      if (answers && !hosts.isOutdated(checked)) checkLater(checked, disconnectChecked);
      else await disconnectChecked();
    }, CHECK_EVERY_MS);
    checkTimer.unref();
  }

  function reconnectLater(ended: pg.Client): void {
    if (closed || client !== ended || reconnectTimer) return;
    reconnectTimer = setTimeout(() => {
      reconnectTimer = undefined;
      connecting = connect();
    }, RECONNECT_MS);
    reconnectTimer.unref();
  }

  return {
    signal(topic) {
      // The listeners' work is not part of the request that signals.
      withoutDeadline(() => local.emit(topic));
      if (pendingNotifications.has(topic)) return;
      const timer = setTimeout(() => {
        pendingNotifications.delete(topic);
        notify(topic).catch(() => {});
      }, NOTIFY_DELAY_MS);
      pendingNotifications.set(topic, timer);
    },
    listen(topic, onSignal) {
      local.on(topic, onSignal);
      if (!topics.has(topic)) {
        topics.add(topic);
        if (!client) connecting = connect();
        else
          connecting = connecting?.then(
            async () => void (client && (await query(client, `listen ${pg.escapeIdentifier(topic)}`))),
          );
        connecting?.catch(() => {});
      }
      return () => local.off(topic, onSignal);
    },
    async announce(name) {
      names.add(name);
      if (!client) connecting = connect();
      else
        connecting = connecting?.then(async () => void (client && (await query(client, ANNOUNCE, [name]))));
      await connecting?.catch(() => {});
    },
    query: (sql, params) => (isConnected && client ? query(client, sql, params) : undefined),
    async close() {
      closed = true;
      clearTimeout(reconnectTimer);
      clearTimeout(checkTimer);
      for (const timer of pendingNotifications.values()) clearTimeout(timer);
      await connecting?.catch(() => {});
      await disconnect();
    },
  };
}

/** A clean end while the server answers; otherwise the socket is destroyed. */
async function endClient(client: pg.Client, socket: Socket): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), CLOSE_MAX_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}
