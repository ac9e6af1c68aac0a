import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../src/config.ts';
import type { Database, Engine } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { newDatabasePlace } from '../../harness.ts';
import { makeQueuesDue } from '../../sending.ts';
import { type Meta, metaEnv, startMeta } from '../../stand-ins/meta.ts';
import { type MortalServer, startMortal } from '../servers.ts';
import { type Haste, hurry, randomFaults, reportAtRandom } from '../weather.ts';
import { type Client, createClient } from './client.ts';
import { openHistory } from './history.ts';
import { CUSTOMERS, go, keepRetrying, phone } from './journeys.ts';

/** Mixed writes through the real API, in rounds: in each a server is killed in the middle of them. */

export interface RoundOptions {
  engine: Engine;
  kills: number;
  journeysPerRound: number;
  timeOuts: boolean;
  haste: Haste;
}

/** What there is when all of it is over. */
export interface Aftermath {
  url: string;
  client: Client;
  history: Awaited<ReturnType<typeof openHistory>>;
  database: Database;
  meta: Meta;
  kills: number;
  /** Writes that were asked for and not acknowledged when a server was killed, all kills together. */
  underWay: number;
}

/** Each has customers of its own: what one customer is sent is answered one after another. */
const CLIENTS = 20;
/** Before each round: the sending gets its time, too. */
const REST_MS = 300;
/** The kill comes in the middle of a request, not before it is sent. */
const STRIKE_MAX_MS = 20;
/** Without any progress. */
const GIVE_UP_MS = 60_000;

export async function runRounds<T>(
  options: RoundOptions,
  judge: (aftermath: Aftermath) => Promise<T>,
): Promise<T> {
  const { engine } = options;
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-kills-'));
  const place = await newDatabasePlace(engine);
  const meta = await startMeta({ now: () => new Date() });
  const history = await openHistory(join(folder, 'history.jsonl'));
  const servers: MortalServer[] = [];
  const client = createClient(servers, history);
  let database: Database | undefined;
  const env = {
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '0',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
    CHANNEL_DAILY_LIMIT: String(2 * CUSTOMERS),
    ...place.env,
    ...metaEnv(meta),
  };
  try {
    for (let n = engine === 'postgres' ? 2 : 1; n > 0; n -= 1) servers.push(await startMortal(env));
    database = await openDatabase(readConfig(place.env), 'command');
    const journeys = (options.kills + 1) * options.journeysPerRound;
    await openWindows(meta, database, servers, Math.min(journeys, CUSTOMERS));
    meta.next(...randomFaults(journeys * 3, options.timeOuts));
    const reporter = reportAtRandom(meta);
    const haste = hurry(database, options.haste);
    const wander = setInterval(() => {
      meta.webhookUrl = `${anyOf(servers).url}/webhooks/whatsapp`;
    }, 50);
    let killed: Pick<Aftermath, 'kills' | 'underWay'>;
    try {
      const retrying = keepRetrying(client);
      try {
        killed = await goRoundByRound(options, { servers, client, database, history });
        await untilAllIsSent(database);
      } finally {
        await retrying.stop();
      }
    } finally {
      await haste.stop();
      clearInterval(wander);
      meta.webhookUrl = `${servers[0]!.url}/webhooks/whatsapp`;
    }
    await reporter.stop();
    return await judge({ url: servers[0]!.url, client, history, database, meta, ...killed });
  } finally {
    client.stop();
    await meta.close();
    await Promise.all(servers.map((server) => server.end()));
    await database?.close();
    await history.close();
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

const anyOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

async function openWindows(
  meta: Meta,
  database: Database,
  servers: MortalServer[],
  count: number,
): Promise<void> {
  meta.webhookUrl = `${servers[0]!.url}/webhooks/whatsapp`;
  await Promise.all(Array.from({ length: count }, (_, n) => meta.customerWrites(phone(n))));
  for (const giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(50)) {
    const row = await database.one<{ open: number }>(
      'select count(*) as open from customer_windows where phone between $1 and $2',
      [phone(0), phone(CUSTOMERS - 1)],
    );
    if (row!.open === count) return;
  }
  throw new Error('the customers’ messages were not worked off');
}

interface Crew extends Pick<Aftermath, 'client' | 'database' | 'history'> {
  servers: readonly MortalServer[];
}

/** One round more than there are kills: after the last one, too, there is work to do. */
async function goRoundByRound(
  { engine, kills, journeysPerRound }: RoundOptions,
  { servers, client, database, history }: Crew,
): Promise<Pick<Aftermath, 'kills' | 'underWay'>> {
  let underWay = 0;
  for (let round = 0; round <= kills; round += 1) {
    let gone = 0;
    let killing: Promise<void> | undefined;
    // At any time but the end: there is more to come than one journey for each client.
    const killAfter = Math.floor(Math.random() * Math.max(1, journeysPerRound - CLIENTS));
    const kill = async () => {
      await sleep(Math.random() * STRIKE_MAX_MS);
      underWay += history.underWay();
      await anyOf(servers).killAndRestart(() => endLeasesOfTheDead(engine, database));
    };
    await sleep(REST_MS);
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, first) => {
        for (let n = first; n < journeysPerRound; n += CLIENTS) {
          if (round < kills && gone >= killAfter) killing ??= kill();
          await go(client, round * journeysPerRound + n);
          gone += 1;
        }
      }),
    );
    await killing;
  }
  return { kills, underWay };
}

/** The embedded database has one worker, and it is dead: no lease of it is worth waiting for. */
async function endLeasesOfTheDead(engine: Engine, database: Database): Promise<void> {
  if (engine === 'postgres') return;
  await database.run(
    `update deliveries set due_at = $1 where state = 'sending' and unsettled_since is null`,
    [new Date().toISOString()],
  );
  await makeQueuesDue(database, new Date());
}

/** For as long as it goes on: a slow machine is no fault. */
async function untilAllIsSent(database: Database): Promise<void> {
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
