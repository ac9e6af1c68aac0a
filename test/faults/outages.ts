import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findProgram, type Service, startPostgres } from '../../scripts/services.ts';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/open.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { freeze } from '../freezing.ts';
import { BOREALIS, call, NOTIFICATIONS, QUESTION } from '../harness.ts';
import { type Listening, listen } from '../listening.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { type Load, lostOf, recoverySeconds, slowestMs, startLoad } from './load.ts';
import { type LoopbackProxy, startProxy } from './proxy.ts';
import { type Mortal, startMortal } from './servers.ts';

/** A way in which PostgreSQL is away. `begin` gives what ends it, and that resolves when it has ended. */
interface Outage {
  title: string;
  /** Without a short one: test/database-away.test.ts has it. */
  seconds: { short?: number; full: number };
  begin(postgres: Service, network: LoopbackProxy): Promise<() => unknown>;
}

const OUTAGES: readonly Outage[] = [
  {
    title: 'stopped',
    seconds: { full: 10 },
    begin: (postgres) => halt(postgres, 'SIGINT'),
  },
  {
    title: 'stopped at once',
    seconds: { short: 0.5, full: 10 },
    begin: (postgres) => halt(postgres, 'SIGQUIT'),
  },
  { title: 'frozen', seconds: { full: 30 }, begin: freeze },
  {
    title: 'cut off, half open',
    seconds: { short: 4.5, full: 30 },
    async begin(_, network) {
      network.silence();
      return () => network.speak();
    },
  },
  {
    title: 'read-only',
    seconds: { short: 0.5, full: 10 },
    async begin({ url }) {
      await setReadOnly(url, 'on');
      return () => setReadOnly(url, 'off');
    },
  },
];

const RECOVERY_MAX_S = 5;
/** Below the five seconds after which a window is told without any signal: the second would take as long. */
const TOLD_MAX_MS = 3000;
const TOLD_TIMES = 2;
/** More than there are connections, so that some wait for one. */
const CLIENTS = 24;

export const outages: Fault = {
  name: 'outages',
  title: 'PostgreSQL goes away and comes back under two servers and a mixed load',
  engines: ['postgres'],
  async run(_engine, size) {
    const postgres = await startPostgres(findProgram('postgres')!, { durable: size === 'full' });
    const network = await startProxy([Number(new URL(postgres.url).port)]);
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-outages-'));
    const away = postgres.url.replace(/:\d+\//, `:${network.port}/`);
    const settings = { DATA_DIR: folder, DATABASE_URL: away, SECRET_KEY: newSecretKey(), DEMO: 'true' };
    const env = {
      LOG_LEVEL: 'silent',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      ...settings,
    };
    const servers: Mortal[] = [];
    const windows: Listening[] = [];
    let comeBack: (() => unknown) | undefined;
    try {
      servers.push(await startMortal({ ...env, WORKER: 'false' }), await startMortal(env));
      const [listening, other] = servers as [Mortal, Mortal];
      const login = await call(other.url, 'POST', '/api/v1/auth/login', { body: BOREALIS });
      const token: string = login.json.access_token;
      windows.push(await listen(listening, token));
      const findings: Finding[] = [];
      const loads: Load[] = [];
      for (const { title, seconds, begin } of OUTAGES) {
        const forSeconds = seconds[size];
        if (forSeconds === undefined) continue;
        const load = await startLoad({ urls: servers.map(({ url }) => url), clients: CLIENTS, pauseMs: 100 });
        loads.push(load);
        await sleep(500);
        comeBack = await begin(postgres, network);
        await sleep(forSeconds * 1000);
        await comeBack();
        comeBack = undefined;
        const backAt = performance.now();
        await untilRecovered(load, backAt);
        await load.stop();
        findings.push(
          {
            what: `${title}: requests refused`,
            value: load.asked.filter((one) => !one.done).length,
            atLeast: 1,
          },
          { what: `${title}: slowest request`, value: slowestMs(load.asked), unit: 'ms', atMost: 5000 },
          {
            what: `${title}: from its return until 95% succeed`,
            value: recoverySeconds(load.asked, backAt),
            unit: 's',
            atMost: RECOVERY_MAX_S,
          },
          {
            what: `${title}: another process’s change is told after`,
            value: await slowestToldMs(windows[0]!, other, token),
            unit: 'ms',
            atMost: TOLD_MAX_MS,
          },
        );
      }
      return [...findings, ...(await inTheEnd(settings, loads, servers))];
    } finally {
      await comeBack?.();
      for (const window of windows) window.stop();
      await Promise.all(servers.map((server) => server.end()));
      await network.close();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function inTheEnd(
  settings: Record<string, string>,
  loads: readonly Load[],
  servers: readonly Mortal[],
): Promise<Finding[]> {
  const database = await openDatabase(readConfig(settings), 'command');
  try {
    const lost = await Promise.all(loads.map((load) => lostOf(database, load)));
    const sum = (figures: readonly number[]) => figures.reduce((a, b) => a + b, 0);
    const wrong = loads.flatMap((load) => load.wrong);
    for (const one of wrong.slice(0, 10)) console.error(one);
    return [
      { what: 'requests', value: sum(loads.map(({ asked }) => asked.length)) },
      {
        what: 'acknowledged writes',
        value: sum(loads.map(({ raised, answered }) => raised.size + answered.size)),
      },
      none('acknowledged and lost', sum(lost)),
      none('refused without SERVICE_UNAVAILABLE and Retry-After', wrong.length),
      none('servers that ended', servers.filter((server) => !server.lives()).length),
    ];
  } finally {
    await database.close();
  }
}

/** Or does not, for a while. */
async function untilRecovered({ asked }: Load, since: number): Promise<void> {
  const giveUpAt = since + (RECOVERY_MAX_S + 3) * 1000;
  while (performance.now() < giveUpAt && Number.isNaN(recoverySeconds(asked, since))) await sleep(100);
}

/** Of some changes one after another, made in a process that is not the window's. */
async function slowestToldMs(window: Listening, other: Mortal, token: string): Promise<number> {
  let slowest = 0;
  for (let time = 0; time < TOLD_TIMES; time += 1) {
    const before = window.heard.length;
    const beganAt = performance.now();
    const body = { ...QUESTION, conversation_id: 4 };
    const reply = await call(other.url, 'POST', `${NOTIFICATIONS}/request`, { token, body });
    if (reply.status !== 200) return Number.NaN;
    const isTold = () => window.heard.slice(before).some(({ event }) => event === 'inbox');
    while (!isTold() && performance.now() - beganAt < 10_000) await sleep(5);
    slowest = Math.max(slowest, performance.now() - beganAt);
  }
  return slowest;
}

async function halt(postgres: Service, signal: NodeJS.Signals): Promise<() => Promise<void>> {
  await postgres.halt(signal);
  return async () => {
    const resumed = postgres.resume();
    await untilAnswering(postgres.url);
    // What is left of it is no part of the outage.
    resumed.catch(() => {});
  };
}

async function untilAnswering(url: string): Promise<void> {
  for (const giveUpAt = Date.now() + 60_000; Date.now() < giveUpAt; await sleep(20)) {
    const client = new pg.Client(url);
    client.on('error', () => {});
    const answers = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => {});
    if (answers) return;
  }
  throw new Error('PostgreSQL does not come back');
}

async function setReadOnly(url: string, value: 'on' | 'off'): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=off' });
  await client.connect();
  try {
    await client.query(`alter system set default_transaction_read_only = ${value}`);
    await client.query('select pg_reload_conf()');
  } finally {
    await client.end();
  }
}
