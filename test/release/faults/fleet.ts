import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../src/config.ts';
import type { Database } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { AURORA, call, NOTIFICATIONS } from '../../support/server.ts';
import { type DashboardClient, seenKey, startDashboardClient } from './dashboardClient.ts';
import { shortenWaits, type WaitLimits } from './disturbances.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { type LoopbackProxy, startProxy } from './proxy.ts';
import { type RetryingClients, startRetryingClients } from './retryingClients.ts';
import { type KillableProcess, startKillableServer, startKillableWorker } from './servers.ts';

interface FleetOptions {
  /** The run lasts until both are reached. */
  seconds: number;
  kills: number;
  clients: number;
  /** Absent: the messages of a killed worker wait until the lease expires, as in production. */
  waits?: WaitLimits;
}

const SIZES: Record<'short' | 'full', FleetOptions> = {
  short: { seconds: 0, kills: 2, clients: 6, waits: { retryMs: 300, settleMs: 2000, leaseMs: 2000 } },
  full: { seconds: 90, kills: 20, clients: 12 },
};
const KILL_AFTER_MS = [300, 1000] as const;
const SEEN_MAX_MS = 5000;
/** What is not seen or sent by then counts as lost. */
const GIVE_UP_MS = 60_000;

export const fleet: Fault = {
  name: 'fleet',
  title: 'two servers and two workers behind one address are killed in turn',
  engines: ['postgres'],
  async run(engine, size) {
    const options = SIZES[size];
    const testDatabase = await createDemoDatabase(engine);
    const env = {
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      WORKER: 'false',
      ...testDatabase.env,
    };
    const processes: KillableProcess[] = [];
    let proxy: LoopbackProxy | undefined;
    let database: Database | undefined;
    const running: { stop(): Promise<void> }[] = [];
    try {
      // The first one creates the tables, if there are none.
      const first = await startKillableServer(env);
      processes.push(first);
      const others = [startKillableWorker(env), startKillableServer(env), startKillableWorker(env)] as const;
      for (const result of await Promise.allSettled(others))
        if (result.status === 'fulfilled') processes.push(result.value);
      const second = await others[1];
      await Promise.all(others);
      proxy = await startProxy([first.port, second.port]);
      database = await openDatabase(readConfig(testDatabase.env), 'command');
      if (options.waits) running.push(shortenWaits(database, options.waits));

      const url = `http://127.0.0.1:${proxy.port}`;
      const token: string = (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json
        .access_token;
      const dashboard = startDashboardClient(url, token);
      const clients = startRetryingClients(url, options.clients);
      running.push(dashboard, clients);
      const kills = await killInTurn(processes, options);
      await clients.stop();
      const unsent = await waitForAllSent(database);
      await waitForAllSeen(dashboard, clients);
      return [
        { what: 'kills', value: kills, atLeast: options.kills },
        { what: 'requests', value: clients.requests() },
        { what: '… that needed a second try', value: clients.retried() },
        none('… that failed again', clients.failed.length),
        { what: 'event streams that broke and were reopened', value: dashboard.reconnects() },
        ...seenFindings(dashboard, clients),
        ...(await deliveryFindings(database, clients)),
        none('messages that were never sent', unsent),
      ];
    } finally {
      await Promise.all(running.map((part) => part.stop()));
      await proxy?.close();
      await Promise.all(processes.map((process) => process.stop()));
      await database?.close();
      await testDatabase.remove();
    }
  },
};

/** Kills the next process only when the one before is ready again, so that one server always runs. Returns the count. */
async function killInTurn(processes: readonly KillableProcess[], options: FleetOptions): Promise<number> {
  const [from, to] = KILL_AFTER_MS;
  let kills = 0;
  for (
    const endAt = Date.now() + options.seconds * 1000;
    Date.now() < endAt || kills < options.kills;
    kills += 1
  ) {
    await sleep(from + Math.random() * (to - from));
    // First each process once, then any of them.
    const index = kills < processes.length ? kills : Math.floor(Math.random() * processes.length);
    await processes[index]!.killAndRestart();
  }
  return kills;
}

/** Returns how many are still unsent at the end. */
async function waitForAllSent(database: Database): Promise<number> {
  for (const giveUpAt = Date.now() + GIVE_UP_MS; ; await sleep(100)) {
    const row = await database.one<{ open: number }>(
      `select count(*) as open from deliveries where state not in ('sent', 'delivered', 'read')`,
    );
    if (row!.open === 0 || Date.now() > giveUpAt) return row!.open;
  }
}

const changesOf = ({ raised, answered }: RetryingClients): [key: string, at: number][] => [
  ...[...raised].map(([address, at]): [string, number] => [seenKey(address, 'requested'), at]),
  ...[...answered].map(([address, at]): [string, number] => [seenKey(address, 'answered'), at]),
];

/** If both changes fall between two loads of the list, only the second is seen. */
const seenAt = ({ seen }: DashboardClient, key: string): number | undefined =>
  seen.get(key) ?? seen.get(key.replace(/requested$/, 'answered'));

async function waitForAllSeen(dashboard: DashboardClient, clients: RetryingClients): Promise<void> {
  const keys = changesOf(clients).map(([key]) => key);
  for (const giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(50)) {
    if (keys.every((key) => seenAt(dashboard, key) !== undefined)) return;
  }
}

function seenFindings(dashboard: DashboardClient, clients: RetryingClients): Finding[] {
  const delays = changesOf(clients).map(([key, at]) => (seenAt(dashboard, key) ?? Number.NaN) - at);
  const seen = delays.filter((ms) => !Number.isNaN(ms));
  return [
    { what: 'acknowledged changes', value: delays.length },
    none('acknowledged changes never seen in the dashboard', delays.length - seen.length),
    {
      what: 'longest time from acknowledged to seen',
      value: Math.max(...seen),
      unit: 'ms',
      atMost: SEEN_MAX_MS,
    },
  ];
}

async function deliveryFindings(database: Database, { answered }: RetryingClients): Promise<Finding[]> {
  const rows = await database.all<{ notification_id: number; messages: number }>(
    'select notification_id, count(*) as messages from deliveries group by notification_id',
  );
  const messages = new Map(rows.map((row) => [`${NOTIFICATIONS}/${row.notification_id}`, row.messages]));
  const notOne = [...answered.keys()].filter((address) => messages.get(address) !== 1).length;
  return [
    { what: 'acknowledged answers', value: answered.size },
    none('answers without exactly one message', notOne),
    none('notifications with more than one message', rows.filter((row) => row.messages > 1).length),
  ];
}
