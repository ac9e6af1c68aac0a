import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/open.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { BOREALIS, call, NOTIFICATIONS, QUESTION } from '../harness.ts';
import { listen } from '../listening.ts';
import { type Finding, none } from './fault.ts';
import { type Load, lostOf } from './load.ts';
import { type MortalServer, startMortal } from './servers.ts';

/**
 * Two servers on one PostgreSQL, a window that listens at one of them, and what holds for both in the end. A
 * third is only read from, all the time: nothing that fails would tell it that its PostgreSQL was set aside.
 */
export interface Pair {
  urls: readonly string[];
  /** That a change made at the one reaches, by a signal, the window at the other. */
  told(title: string): Promise<Finding>;
  /** That a change made at one of them is read at the third. */
  shown(title: string): Promise<Finding>;
  findings(loads: readonly Load[]): Promise<Finding[]>;
  end(): Promise<void>;
}

/** Below the five seconds after which a window is told without any signal: the second would take as long. */
const TOLD_MAX_MS = 3000;
const TOLD_TIMES = 2;
const READ_EVERY_MS = 20;

export async function startPair(databaseUrl: string): Promise<Pair> {
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
  const servers: MortalServer[] = [];
  const end = async () => {
    await Promise.all(servers.map((server) => server.end()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // Where the messages are sent there is always something to tell: the window is at the other.
    servers.push(await startMortal({ ...env, WORKER: 'false' }), await startMortal(env));
    const reader = await startMortal({ ...env, WORKER: 'false' });
    servers.push(reader);
    const [listening, other] = servers as [MortalServer, MortalServer];
    const login = await call(other.url, 'POST', '/api/v1/auth/login', { body: BOREALIS });
    const token: string = login.json.access_token;
    const window = await listen(listening, token);
    // It stays open for as long as its server runs.
    window.ended.catch(() => {});

    const raise = () =>
      call(other.url, 'POST', `${NOTIFICATIONS}/request`, {
        token,
        body: { ...QUESTION, conversation_id: 4 },
      });

    let ends = false;
    let newestRead: number | undefined;
    const reading = (async () => {
      for (; !ends; await sleep(READ_EVERY_MS)) {
        const list = await call(reader.url, 'GET', `${NOTIFICATIONS}/?limit=1`, { token }).catch(
          () => undefined,
        );
        if (list?.status === 200) newestRead = list.json[0]?.id;
      }
    })();

    async function shownAfterMs(): Promise<number> {
      const beganAt = performance.now();
      const address = (await raise()).headers.get('location');
      while (address !== `${NOTIFICATIONS}/${newestRead}`) {
        if (performance.now() - beganAt > 10_000) return Number.NaN;
        await sleep(READ_EVERY_MS);
      }
      return performance.now() - beganAt;
    }

    async function slowestToldMs(): Promise<number> {
      let slowest = 0;
      for (let time = 0; time < TOLD_TIMES; time += 1) {
        const before = window.heard.length;
        const beganAt = performance.now();
        const reply = await raise();
        if (reply.status !== 200) return Number.NaN;
        const isTold = () => window.heard.slice(before).some(({ event }) => event === 'inbox');
        while (!isTold() && performance.now() - beganAt < 10_000) await sleep(5);
        slowest = Math.max(slowest, performance.now() - beganAt);
      }
      return slowest;
    }

    return {
      urls: [listening.url, other.url],
      async told(title) {
        const what = `${title}: another server’s change is told after`;
        return { what, value: await slowestToldMs(), unit: 'ms', atMost: TOLD_MAX_MS };
      },
      async shown(title) {
        const what = `${title}: a server that only reads shows a change after`;
        return { what, value: await shownAfterMs(), unit: 'ms', atMost: TOLD_MAX_MS };
      },
      findings: (loads) => inTheEnd(env, loads, servers),
      async end() {
        window.stop();
        ends = true;
        await reading;
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function inTheEnd(
  env: Record<string, string>,
  loads: readonly Load[],
  servers: readonly MortalServer[],
): Promise<Finding[]> {
  const database = await openDatabase(readConfig(env), 'command');
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
