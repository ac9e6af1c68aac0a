import { EventEmitter, once } from 'node:events';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DatabaseUnavailable, type Param } from './database.ts';
import { withoutDeadline } from './deadline.ts';
import type { Hosts } from './hosts.ts';
import { ANNOUNCE } from './locks.ts';

/**
 * LISTEN and NOTIFY, on a separate connection that reconnects when it breaks. All SQL with them is here, because other
 * engines that speak PostgreSQL's protocol differ in them:
 *
 *   Citus         on the coordinator, as in PostgreSQL; every process connects to it
 *   CockroachDB   does not have them (cockroachdb/cockroach#41522)
 *   YugabyteDB    has them from version 2025.2.3 on (yugabyte/yugabyte-db#1872)
 */
export interface Signals {
  signal(topic: string): void;
  listen(topic: string, onSignal: () => void): () => void;
  /**
   * Holds a shared lock on the name, which ends with the connection: no process that is gone is counted. Resolves only
   * when it is held, because others rely on it, and rejects after ten seconds.
   */
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
/** Several connections may fail before one announces a name. */
const ANNOUNCE_MAX_MS = 10_000;
const ANNOUNCE_CHECK_MS = 20;

interface SignalParts {
  types: pg.CustomTypesConfig;
  /** Runs regularly, to see that the server still answers. */
  checkSql: string;
  /** A short statement on a connection of the pool. */
  run: (sql: string, params: readonly Param[]) => Promise<unknown>;
}

const NOTIFY = 'select pg_notify($1, $2)';
const listenSql = (topic: string) => `listen ${pg.escapeIdentifier(topic)}`;

export function createSignals(hosts: Hosts, { types, checkSql, run }: SignalParts): Signals {
  const local = new EventEmitter().setMaxListeners(0);
  const topics = new Set<string>();
  const names = new Set<string>();
  const pendingNotifications = new Map<string, NodeJS.Timeout>();
  let client: pg.Client | undefined;
  let isConnected = false;
  let lastQuery: Promise<unknown> = Promise.resolve();
  let disconnect = async () => {};
  /** Connecting, and what was added since. Never rejects: otherwise everything added later would be skipped. */
  let connecting: Promise<void> = Promise.resolve();
  let reconnectTimer: NodeJS.Timeout | undefined;
  let checkTimer: NodeJS.Timeout | undefined;
  let closed = false;
  /** Why there is no connection. */
  let problem: unknown;

  /** One at a time, as the driver wants it. */
  function query(on: pg.Client, sql: string, params: readonly Param[] = []): Promise<pg.QueryResult> {
    const result = lastQuery.catch(() => {}).then(() => on.query(sql, [...params]));
    lastQuery = result;
    return result;
  }

  async function connect(): Promise<void> {
    const socket = new Socket();
    // May throw: it reads the certificates that the address names.
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
    next.on('end', () => {
      if (client === next) isConnected = false;
      reconnectLater(next);
    });
    next.on('notification', ({ channel }) => local.emit(channel));
    client = next;
    disconnect = disconnectNext;
    try {
      await next.connect();
      for (const name of names) await query(next, ANNOUNCE, [name]);
      for (const topic of topics) await query(next, listenSql(topic));
      isConnected = true;
      // Signals sent while we were disconnected are lost: every listener checks once.
      for (const topic of topics) local.emit(topic);
      checkLater(next, disconnectNext);
    } catch (error) {
      problem = error;
      await replace(next, disconnectNext);
    }
  }

  /** The next connection sends everything again. */
  async function replace(failed: pg.Client, disconnectFailed: () => Promise<void>): Promise<void> {
    if (client === failed) isConnected = false;
    await disconnectFailed();
    reconnectLater(failed);
  }

  /** Sends what every later connection sends, too. If it fails, the connection is replaced: nothing else sends it again. */
  function add(sql: string, params: readonly Param[] = []): Promise<void> {
    if (client) {
      connecting = connecting.then(async () => {
        const [current, disconnectCurrent] = [client!, disconnect];
        await query(current, sql, params).catch(() => replace(current, disconnectCurrent));
      });
    } else if (!reconnectTimer) connecting = connect().catch(connectLater);
    return connecting;
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
    if (client === ended) connectLater();
  }

  function connectLater(why = problem): void {
    problem = why;
    if (closed || reconnectTimer) return;
    reconnectTimer = setTimeout(() => {
      reconnectTimer = undefined;
      connecting = connect().catch(connectLater);
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
        run(NOTIFY, [topic, process.pid]).catch(() => {});
      }, NOTIFY_DELAY_MS);
      pendingNotifications.set(topic, timer);
    },
    listen(topic, onSignal) {
      local.on(topic, onSignal);
      if (!topics.has(topic)) {
        topics.add(topic);
        void add(listenSql(topic));
      }
      return () => local.off(topic, onSignal);
    },
    async announce(name) {
      names.add(name);
      const giveUpAt = performance.now() + ANNOUNCE_MAX_MS;
      await add(ANNOUNCE, [name]);
      while (!isConnected) {
        if (closed || performance.now() > giveUpAt)
          throw new DatabaseUnavailable('this process cannot be announced', { cause: problem });
        await sleep(ANNOUNCE_CHECK_MS);
      }
    },
    query: (sql, params) => (isConnected && client ? query(client, sql, params) : undefined),
    async close() {
      closed = true;
      clearTimeout(reconnectTimer);
      clearTimeout(checkTimer);
      for (const timer of pendingNotifications.values()) clearTimeout(timer);
      await connecting;
      await disconnect();
    },
  };
}

/** Whether a signal from one connection arrives at another. */
export async function arrives(from: pg.ClientBase, to: pg.ClientBase, topic: string): Promise<boolean> {
  await to.query(listenSql(topic));
  const heard = once(to, 'notification', { signal: AbortSignal.timeout(ANSWER_MAX_MS) }).then(
    () => true,
    () => false,
  );
  await from.query(NOTIFY, [topic, process.pid]);
  return heard;
}

/** A clean end while the server answers; otherwise the socket is destroyed. */
async function endClient(client: pg.Client, socket: Socket): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), CLOSE_MAX_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}
