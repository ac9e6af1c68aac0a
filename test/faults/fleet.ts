import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { AURORA, call, NOTIFICATIONS, newDatabasePlace } from '../harness.ts';
import { type Customers, startCustomers } from './customers.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { type LoopbackProxy, startProxy } from './proxy.ts';
import { type Mortal, startMortal, startMortalWorker } from './servers.ts';
import { seenKey, type Watching, watch } from './watching.ts';
import { type Haste, hurry } from './weather.ts';

interface FleetOptions {
  /** At least both. */
  seconds: number;
  kills: number;
  /** Absent: a killed worker's messages wait for their lease to end, as they do in life. */
  haste?: Haste;
}

const SIZES: Record<'short' | 'full', FleetOptions> = {
  short: { seconds: 3, kills: 2, haste: { retryMs: 300, settleMs: 2000, leaseMs: 2000 } },
  full: { seconds: 90, kills: 20 },
};
const KILL_AFTER_MS = [300, 1000] as const;
const SEEN_MAX_MS = 5000;
/** What is not seen or sent by then never will be. */
const GIVE_UP_MS = 60_000;

export const fleet: Fault = {
  name: 'fleet',
  title: 'two servers and two workers behind one address, and always one of them is killed',
  engines: ['postgres'],
  async run(engine, size) {
    const options = SIZES[size];
    const place = await newDatabasePlace(engine);
    const env = {
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      WORKER: 'false',
      ...place.env,
    };
    const processes: Mortal[] = [];
    let proxy: LoopbackProxy | undefined;
    let database: Database | undefined;
    const running: { stop(): Promise<void> }[] = [];
    try {
      // The first makes the tables.
      const first = await startMortal(env);
      processes.push(first);
      const others = [startMortalWorker(env), startMortal(env), startMortalWorker(env)] as const;
      for (const one of await Promise.allSettled(others))
        if (one.status === 'fulfilled') processes.push(one.value);
      const second = await others[1];
      await Promise.all(others);
      proxy = await startProxy([first.port, second.port]);
      database = await openDatabase(readConfig(place.env), 'command');
      if (options.haste) running.push(hurry(database, options.haste));

      const url = `http://127.0.0.1:${proxy.port}`;
      const token: string = (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json
        .access_token;
      const window = watch(url, token);
      const customers = startCustomers(url);
      running.push(window, customers);
      const kills = await killOneAfterAnother(processes, options);
      await customers.stop();
      const unsent = await untilAllSent(database);
      await untilSeen(window, customers);
      return [
        { what: 'killed, of four', value: kills, atLeast: options.kills },
        { what: 'requests', value: customers.requests() },
        { what: 'of them asked once more', value: customers.repeated() },
        none('failed after that', customers.failed.length),
        { what: 'streams that broke off and were opened again', value: window.reopened() },
        ...seenFindings(window, customers),
        ...(await deliveryFindings(database, customers)),
        none('messages that were never sent', unsent),
      ];
    } finally {
      await Promise.all(running.map((one) => one.stop()));
      await proxy?.close();
      await Promise.all(processes.map((one) => one.end()));
      await database?.close();
      await place.remove();
    }
  },
};

/** The next falls only when the one before is up again: what all clients need is one of two. Gives how many. */
async function killOneAfterAnother(processes: readonly Mortal[], options: FleetOptions): Promise<number> {
  const [from, to] = KILL_AFTER_MS;
  let kills = 0;
  for (
    const endAt = Date.now() + options.seconds * 1000;
    Date.now() < endAt || kills < options.kills;
    kills += 1
  ) {
    await sleep(from + Math.random() * (to - from));
    // A server, a worker, the other server, the other worker; then any of them.
    const index = kills < processes.length ? kills : Math.floor(Math.random() * processes.length);
    await processes[index]!.killAndRestart();
  }
  return kills;
}

/** Gives how many are still open when nothing moves any more. */
async function untilAllSent(database: Database): Promise<number> {
  for (const giveUpAt = Date.now() + GIVE_UP_MS; ; await sleep(100)) {
    const row = await database.one<{ open: number }>(
      `select count(*) as open from deliveries where state not in ('sent', 'delivered', 'read')`,
    );
    if (row!.open === 0 || Date.now() > giveUpAt) return row!.open;
  }
}

const changesOf = ({ raised, answered }: Customers): [key: string, at: number][] => [
  ...[...raised].map(([address, at]): [string, number] => [seenKey(address, 'requested'), at]),
  ...[...answered].map(([address, at]): [string, number] => [seenKey(address, 'answered'), at]),
];

/** Answered is seen instead of requested where both lie between two looks. */
const seenAt = ({ seen }: Watching, key: string): number | undefined =>
  seen.get(key) ?? seen.get(key.replace(/requested$/, 'answered'));

async function untilSeen(window: Watching, customers: Customers): Promise<void> {
  const keys = changesOf(customers).map(([key]) => key);
  for (const giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(50)) {
    if (keys.every((key) => seenAt(window, key) !== undefined)) return;
  }
}

function seenFindings(window: Watching, customers: Customers): Finding[] {
  const delays = changesOf(customers).map(([key, at]) => (seenAt(window, key) ?? Number.NaN) - at);
  const seen = delays.filter((ms) => !Number.isNaN(ms));
  return [
    { what: 'acknowledged changes', value: delays.length },
    none('acknowledged, and never seen in the window', delays.length - seen.length),
    {
      what: 'from acknowledged to seen, the slowest',
      value: Math.max(...seen),
      unit: 'ms',
      atMost: SEEN_MAX_MS,
    },
  ];
}

async function deliveryFindings(database: Database, { answered }: Customers): Promise<Finding[]> {
  const rows = await database.all<{ notification_id: number; messages: number }>(
    'select notification_id, count(*) as messages from deliveries group by notification_id',
  );
  const messages = new Map(rows.map((row) => [`${NOTIFICATIONS}/${row.notification_id}`, row.messages]));
  const notOne = [...answered.keys()].filter((address) => messages.get(address) !== 1).length;
  return [
    { what: 'acknowledged answers', value: answered.size },
    none('answers with another number of messages than one', notOne),
    none('notifications with more messages than one', rows.filter((row) => row.messages > 1).length),
  ];
}
