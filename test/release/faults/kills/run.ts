import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../../src/config.ts';
import type { Database, Engine } from '../../../../src/database/database.ts';
import { openDatabase } from '../../../../src/database/open.ts';
import { createDemoDatabase } from '../../../support/databases.ts';
import { type Meta, metaEnv, startMeta } from '../../../support/stand-ins/meta.ts';
import { anyOf } from '../client.ts';
import {
  makeDue,
  randomChannelFaults,
  reportStatusesRandomly,
  shortenWaits,
  type WaitLimits,
} from '../disturbances.ts';
import { type KillableServer, startKillableServer } from '../servers.ts';
import { type Client, createClient } from './client.ts';
import { CUSTOMERS, keepRetrying, phone, runScenario } from './scenarios.ts';

/** Mixed writes through the real API, in rounds. In each round a server is killed in the middle of the writes. */

export interface RoundOptions {
  kills: number;
  scenariosPerRound: number;
  timeOuts: boolean;
  /** How long a client waits on average before it repeats a request. */
  clientRetryMs: number;
  waits: WaitLimits;
}

/** The state after the last round. */
export interface RoundsResult {
  url: string;
  client: Client;
  database: Database;
  meta: Meta;
  kills: number;
  /** Writes that were in progress when a server was killed, summed over all kills. */
  inProgress: number;
}

/** Each client has its own customers, so the messages to one customer are created one after another. */
const CLIENTS = 20;
/** A pause before each round, so that messages are sent, too. */
const PAUSE_MS = 300;
/** A short delay, so that the kill comes in the middle of a request. */
const KILL_DELAY_MAX_MS = 20;
/** The time limit without any progress. */
const GIVE_UP_MS = 60_000;

export async function runRounds<T>(
  engine: Engine,
  options: RoundOptions,
  check: (result: RoundsResult) => Promise<T>,
): Promise<T> {
  const testDatabase = await createDemoDatabase(engine);
  const meta = await startMeta({ now: () => new Date() });
  const servers: KillableServer[] = [];
  const client = createClient(servers, options.clientRetryMs);
  let database: Database | undefined;
  const env = {
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '0',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
    CHANNEL_DAILY_LIMIT: String(2 * CUSTOMERS),
    ...testDatabase.env,
    ...metaEnv(meta),
  };
  try {
    for (let n = engine === 'postgres' ? 2 : 1; n > 0; n -= 1) servers.push(await startKillableServer(env));
    const { url } = servers[0]!;
    database = await openDatabase(readConfig(testDatabase.env), 'command');
    const scenarios = (options.kills + 1) * options.scenariosPerRound;
    meta.webhookUrl = `${url}/webhooks/whatsapp`;
    await openWindows(meta, database, Math.min(scenarios, CUSTOMERS));
    meta.next(...randomChannelFaults(scenarios * 3, options.timeOuts));
    const reporter = reportStatusesRandomly(meta);
    const waits = shortenWaits(database, options.waits);
    const changeWebhookUrl = setInterval(() => {
      meta.webhookUrl = `${anyOf(servers).url}/webhooks/whatsapp`;
    }, 50);
    const retrying = keepRetrying(client);
    let inProgress: number;
    try {
      inProgress = await runAllRounds(engine, options, { servers, client, database });
      await waitForAllSent(database);
    } finally {
      await retrying.stop().finally(waits.stop);
      clearInterval(changeWebhookUrl);
      meta.webhookUrl = `${url}/webhooks/whatsapp`;
    }
    await reporter.stop();
    return await check({ url, client, database, meta, kills: options.kills, inProgress });
  } finally {
    client.stop();
    await meta.close();
    await Promise.all(servers.map((server) => server.stop()));
    await database?.close();
    await testDatabase.remove();
  }
}

async function openWindows(meta: Meta, database: Database, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, n) => meta.customerWrites(phone(n))));
  for (const giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(50)) {
    const row = await database.one<{ open: number }>(
      'select count(*) as open from customer_windows where phone between $1 and $2',
      [phone(0), phone(CUSTOMERS - 1)],
    );
    if (row!.open === count) return;
  }
  throw new Error('the customers’ messages were not processed');
}

interface RoundParts extends Pick<RoundsResult, 'client' | 'database'> {
  servers: readonly KillableServer[];
}

/** One more round than kills, so that there are also writes after the last kill. Returns what a kill interrupted. */
async function runAllRounds(
  engine: Engine,
  { kills, scenariosPerRound }: RoundOptions,
  { servers, client, database }: RoundParts,
): Promise<number> {
  let inProgress = 0;
  const kill = async () => {
    await sleep(Math.random() * KILL_DELAY_MAX_MS);
    inProgress += client.entries.filter(({ reply }) => !reply).length;
    // With the embedded database the only worker was killed, so its leases can end at once.
    const endLeases = () => makeDue(database, `state = 'sending' and unsettled_since is null`);
    await anyOf(servers).killAndRestart(engine === 'sqlite' ? endLeases : undefined);
  };
  for (let round = 0; round <= kills; round += 1) {
    let finished = 0;
    let killing: Promise<void> | undefined;
    // At any time except the end: each client still has a scenario to run.
    const killAfter = Math.floor(Math.random() * Math.max(1, scenariosPerRound - CLIENTS));
    await sleep(PAUSE_MS);
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, first) => {
        for (let n = first; n < scenariosPerRound; n += CLIENTS) {
          if (round < kills && finished >= killAfter) killing ??= kill();
          await runScenario(client, round * scenariosPerRound + n);
          finished += 1;
        }
      }),
    );
    await killing;
  }
  return inProgress;
}

/** Waits as long as there is progress: a slow machine is not a failure. */
async function waitForAllSent(database: Database): Promise<void> {
  let open = Number.POSITIVE_INFINITY;
  for (let giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(200)) {
    const row = await database.one<{ open: number }>(
      `select count(*) as open from deliveries where state in ('queued', 'sending', 'waiting', 'failed')`,
    );
    if (row!.open === 0) return;
    if (row!.open < open) giveUpAt = Date.now() + GIVE_UP_MS;
    open = Math.min(open, row!.open);
  }
}
