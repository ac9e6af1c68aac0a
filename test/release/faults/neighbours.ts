import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Engine } from '../../../src/database/database.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { type Serving, type Settings, serve } from '../../support/process.ts';
import { AURORA, call } from '../../support/server.ts';
import { type Fault, type Finding, mayRetry, none, type Size } from './fault.ts';
import { sendAccents } from './neighbours/accents.ts';
import { largeLists } from './neighbours/largeLists.ts';
import type { OthersFigures } from './neighbours/othersThread.ts';
import { waitingAssistants } from './neighbours/waiting.ts';

/** One caller that tries to slow down everybody else. */
export interface Attack {
  /** The start of its figures' names. */
  what: string;
  settings?: Settings;
  /** Before the server starts. */
  prepare?(testDatabase: TestDatabase, size: Size): Promise<void>;
  /** Before the others' requests are measured: the first request of a kind compiles code. */
  warmUp?(target: Target): Promise<void>;
  /** The attack itself. The others are measured while it runs. Returns its own figures. */
  run(target: Target): Promise<Finding[]>;
}

export interface Target {
  server: Serving;
  size: Size;
  /** The attacker's own token, of the first demo merchant. The others are the second. */
  token: string;
}

/** How long another merchant's request may take during an attack. */
const OTHERS_MAX_MS = 100;
/** Tests of other files run beside the short version, so it only notices an attack that stops everybody. */
const SHORT_MAX_MS = 1500;

/** A single wait is easily disturbed: the server, its database, the attacker and the others share the cores. */
const AGAIN_MAX = 2;

/** A new attack is one entry here. */
const ATTACKS: readonly Attack[] = [
  { what: 'stacked accents', run: sendAccents },
  waitingAssistants,
  // Before contexts had a limit, they could have almost 256 kB.
  largeLists('a list with large contexts', {
    short: [{ count: 40, bytes: 240_000 }],
    full: [
      { count: 200, bytes: 64_000 },
      { count: 200, bytes: 240_000 },
    ],
  }),
  largeLists('a list of many notifications', {
    short: [{ count: 15_000, bytes: 60 }],
    full: [{ count: 100_000, bytes: 60 }],
  }),
];

export const neighbours: Fault = {
  name: 'neighbours',
  title: 'one caller tries to slow down all others',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const findings: Finding[] = [];
    for (const attack of ATTACKS) {
      let measured = await runAttack(attack, engine, size);
      // Here, so that one disturbed attack does not repeat them all.
      for (let again = 0; again < AGAIN_MAX && mayRetry(measured); again += 1)
        measured = await runAttack(attack, engine, size);
      findings.push(...measured);
    }
    return findings;
  },
};

async function runAttack(attack: Attack, engine: Engine, size: Size): Promise<Finding[]> {
  const { what, settings, prepare, warmUp, run } = attack;
  const testDatabase = await createDemoDatabase(engine);
  let server: Serving | undefined;
  try {
    await prepare?.(testDatabase, size);
    server = await serve({
      ...testDatabase.env,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ...settings,
    });
    const { json } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
    const target = { server, size, token: json.access_token as string };
    await warmUp?.(target);
    const others = await watchOthers(server);
    const own = await run(target);
    const { requests, failed, longestMs } = await others.stop();
    return [
      ...own,
      { what: `${what}: requests of others`, value: requests, atLeast: 10, dependsOnSpeed: true },
      // A server that the host stops for a second is overloaded then, and refuses with 503.
      { ...none(`${what}: requests of others that failed`, failed), dependsOnSpeed: true },
      {
        what: `${what}: longest wait of others`,
        value: longestMs,
        unit: 'ms',
        atMost: size === 'short' ? SHORT_MAX_MS : OTHERS_MAX_MS,
      },
    ];
  } finally {
    await server?.stop();
    await testDatabase.remove();
  }
}

/** Sends another merchant's ordinary requests from a thread of its own: the attacker's thread is busy. */
async function watchOthers({ url, child }: Serving): Promise<{ stop(): Promise<OthersFigures> }> {
  const thread = new Worker(new URL('./neighbours/othersThread.ts', import.meta.url), {
    workerData: { url, pid: child.pid! },
  });
  await once(thread, 'message');
  return {
    async stop() {
      thread.postMessage('stop');
      const [figures] = (await once(thread, 'message')) as [OthersFigures];
      await thread.terminate();
      return figures;
    },
  };
}
