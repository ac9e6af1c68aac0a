import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../src/config.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { listen } from '../../support/listening.ts';
import { BOREALIS, call, NOTIFICATIONS, QUESTION, type Reply } from '../../support/server.ts';
import { type Finding, none } from './fault.ts';
import { countLost, type Load } from './load.ts';
import { type KillableServer, startKillableServer } from './servers.ts';

/**
 * Two servers on one PostgreSQL, with an event stream open at one of them. A third server only answers reads, so no
 * failed write shows it that its PostgreSQL was demoted.
 */
export interface Pair {
  urls: readonly string[];
  /** How long a change at one server takes to reach the event stream at the other. */
  measureNotified(title: string): Promise<Finding>;
  /** How long a change takes until the third server shows it. */
  measureVisible(title: string): Promise<Finding>;
  findings(loads: readonly Load[]): Promise<Finding[]>;
  stop(): Promise<void>;
}

/** Less than the five seconds after which a server polls for changes without any signal. */
const NOTICED_MAX_MS = 3000;
const GIVE_UP_MS = 10_000;
const RAISED = { ...QUESTION, conversation_id: 4 };

/** `readEveryMs` is the pause between two reads at the third server. Without it there is none. */
export async function startPair(databaseUrl: string, readEveryMs?: number): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-pair-'));
  const env = {
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: newSecretKey(),
    DEMO: 'true',
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_MINUTE: '0',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
  };
  const servers: KillableServer[] = [];
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // The worker's server always has changes to report, so the event stream is at the other one.
    servers.push(await startKillableServer({ ...env, WORKER: 'false' }), await startKillableServer(env));
    const reader = readEveryMs ? await startKillableServer({ ...env, WORKER: 'false' }) : undefined;
    if (reader) servers.push(reader);
    const [listening, other] = servers as [KillableServer, KillableServer];
    const login = await call(other.url, 'POST', '/api/v1/auth/login', { body: BOREALIS });
    const token: string = login.json.access_token;
    const stream = await listen(listening, token);
    // It stays open until its server stops.
    stream.ended.catch(() => {});

    let stopped = false;
    let newestRead: number | undefined;
    const reading = (async () => {
      for (; reader && !stopped; await sleep(readEveryMs)) {
        const list = await call(reader.url, 'GET', `${NOTIFICATIONS}/?limit=1`, { token }).catch(() => {});
        if (list?.status === 200) newestRead = list.json[0]?.id;
      }
    })();

    /** How long a change takes until it is noticed there. */
    const measure = async (what: string, isNoticed: (raised: Reply, before: number) => boolean) => {
      const before = stream.events.length;
      const startedAt = performance.now();
      const raised = await call(other.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: RAISED });
      const tookMs = () => performance.now() - startedAt;
      while (!isNoticed(raised, before) && tookMs() < GIVE_UP_MS) await sleep(5);
      const value = raised.status === 200 ? tookMs() : Number.NaN;
      return { what, value, unit: 'ms', atMost: NOTICED_MAX_MS } as const;
    };

    return {
      urls: [listening.url, other.url],
      measureNotified: (title) =>
        measure(`${title}: time until another server’s change arrives`, (_, before) =>
          stream.events.slice(before).some(({ event }) => event === 'inbox'),
        ),
      measureVisible: (title) =>
        measure(
          `${title}: time until a server that only reads shows a change`,
          ({ headers }) => headers.get('location') === `${NOTIFICATIONS}/${newestRead}`,
        ),
      findings: (loads) => finalFindings(env, loads, servers),
      async stop() {
        stream.stop();
        stopped = true;
        await reading;
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function finalFindings(
  env: Record<string, string>,
  loads: readonly Load[],
  servers: readonly KillableServer[],
): Promise<Finding[]> {
  const database = await openDatabase(readConfig(env), 'command');
  try {
    const lost = await Promise.all(loads.map((load) => countLost(database, load)));
    const sum = (figures: readonly number[]) => figures.reduce((a, b) => a + b, 0);
    const wrong = loads.flatMap((load) => load.wrong);
    for (const answer of wrong.slice(0, 10)) console.error(answer);
    return [
      { what: 'requests', value: sum(loads.map(({ requests }) => requests.length)) },
      {
        what: 'acknowledged writes',
        value: sum(loads.map(({ raised, answered }) => raised.size + answered.size)),
      },
      none('acknowledged writes lost', sum(lost)),
      none('refused without SERVICE_UNAVAILABLE and Retry-After', wrong.length),
      none('servers that stopped', servers.filter((server) => !server.isRunning()).length),
    ];
  } finally {
    await database.close();
  }
}
