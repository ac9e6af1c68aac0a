import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config.ts';
import type { Database, Engine } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { AURORA, call, newDatabasePlace, type Reply } from '../harness.ts';
import { type Meta, metaEnv, startMeta } from '../stand-ins/meta.ts';
import { type MortalServer, startMortal } from './servers.ts';
import { contentOf, type Tally, tallyOf } from './tally.ts';
import { type Haste, hurry, randomFaults, reportAtRandom } from './weather.ts';

/** Answers through the real API, to a stand-in of Meta's, while servers are killed and the channel errs. */

export interface FaultOptions {
  engine: Engine;
  answers: number;
  /** No more than these, each so long after the one before. */
  killsMax: number;
  killEveryMs: readonly [from: number, to: number];
  timeOuts: boolean;
  haste: Haste;
}

/** Each has customers of its own: what one customer is sent is answered one after another. */
const CLIENTS = 20;
const CUSTOMERS = 500;
/** Below the number's 80: two servers do not know of each other's pace. */
const ANSWERS_PER_SECOND = 60;
/** Without any progress. */
const GIVE_UP_MS = 120_000;
const ANSWER_MAX_MS = 600_000;

const phone = (n: number) => `+34600${String(n % CUSTOMERS).padStart(6, '0')}`;

export async function runFaults(options: FaultOptions): Promise<Tally> {
  const { engine, answers } = options;
  const place = await newDatabasePlace(engine);
  const meta = await startMeta({ now: () => new Date() });
  const servers: MortalServer[] = [];
  let database: Database | undefined;
  const env = {
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '0',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
    ...place.env,
    ...metaEnv(meta),
  };
  try {
    for (let n = engine === 'postgres' ? 2 : 1; n > 0; n -= 1) servers.push(await startMortal(env));
    database = await openDatabase(readConfig(place.env), 'command');
    await openWindows(meta, database, servers, Math.min(answers, CUSTOMERS));
    meta.next(...randomFaults(answers * 3, options.timeOuts));
    const reporter = reportAtRandom(meta);
    const haste = hurry(database, options.haste);
    const work = { over: false };
    const killing = killAtRandom(options, servers, meta, database, work);
    // Heard of where it is awaited, not before.
    killing.catch(() => {});
    let acknowledged: Set<number>;
    let kills: number;
    try {
      acknowledged = await answerAll(servers, answers);
      await untilNothingIsOpen(database);
    } finally {
      work.over = true;
      kills = await killing;
      await haste.stop();
      meta.webhookUrl = `${servers[0]!.url}/webhooks/whatsapp`;
    }
    await reporter.stop();
    return await tallyOf({ database, meta, acknowledged, answers, kills });
  } finally {
    await meta.close();
    await Promise.all(servers.map((server) => server.end()));
    await database?.close();
    await place.remove();
  }
}

async function openWindows(
  meta: Meta,
  database: Database,
  servers: MortalServer[],
  count: number,
): Promise<void> {
  meta.webhookUrl = `${servers[0]!.url}/webhooks/whatsapp`;
  await Promise.all(Array.from({ length: count }, (_, n) => meta.customerWrites(phone(n))));
  for (const giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(50)) {
    const row = await database.one<{ open: number }>('select count(*) as open from customer_windows');
    if (row!.open === count) return;
  }
  throw new Error('the customers’ messages were not worked off');
}

async function answerAll(servers: readonly MortalServer[], answers: number): Promise<Set<number>> {
  const acknowledged = new Set<number>();
  const beganAt = Date.now();
  let token: string | undefined;
  /** Any server, as often as it takes, under one key. */
  async function persist(path: string, body: unknown, key?: string): Promise<Reply> {
    let last = 'nothing';
    for (
      const giveUpAt = Date.now() + ANSWER_MAX_MS;
      Date.now() < giveUpAt;
      await sleep(50 + Math.random() * 100)
    ) {
      const { url } = servers[Math.floor(Math.random() * servers.length)]!;
      const headers = key === undefined ? {} : { 'idempotency-key': key };
      const reply = await call(url, 'POST', path, { token, body, headers }).catch((error) => {
        last = String(error.cause ?? error);
      });
      if (reply?.status === 200) return reply;
      if (reply) last = reply.text;
      const inFlight = reply?.status === 409 && reply.json?.field === 'Idempotency-Key';
      if (reply && reply.status < 500 && !inFlight) break;
    }
    throw new Error(`${path} was not acknowledged: ${last}`);
  }
  token = (await persist('/api/v1/auth/login', AURORA)).json.access_token;

  async function client(first: number): Promise<void> {
    for (let n = first; n < answers; n += CLIENTS) {
      await sleep(Math.max(0, beganAt + (n * 1000) / ANSWERS_PER_SECOND - Date.now()));
      const question = {
        notification_type: 'user_question_request',
        conversation_id: 1,
        context: { question: `Question ${n}?`, lead_phone: phone(n) },
      };
      const raised = await persist('/api/v1/notification/request', question, `question-${n}`);
      const address = `${raised.headers.get('location')}/answer`;
      await persist(address, { answer: contentOf(n) }, `answer-${n}`);
      acknowledged.add(n);
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
  return acknowledged;
}

/** Gives how many there were. */
async function killAtRandom(
  { engine, killsMax, killEveryMs: [from, to] }: FaultOptions,
  servers: readonly MortalServer[],
  meta: Meta,
  database: Database,
  work: { over: boolean },
): Promise<number> {
  let kills = 0;
  let startMs = 0;
  while (!work.over) {
    // On a slow machine as long as the last start took: else nothing would ever be done between two kills.
    const at = Date.now() + Math.max(startMs, from + Math.random() * (to - from));
    while (!work.over && Date.now() < at) {
      meta.webhookUrl = `${servers[Math.floor(Math.random() * servers.length)]!.url}/webhooks/whatsapp`;
      await sleep(50);
    }
    if (work.over || kills === killsMax) continue;
    kills += 1;
    const killedAt = Date.now();
    await servers[Math.floor(Math.random() * servers.length)]!.killAndRestart(async () => {
      // The embedded database has one worker, and it is dead: no lease of it is worth waiting for.
      if (engine === 'sqlite') {
        await database.run(
          `update deliveries set due_at = $1 where state = 'sending' and unsettled_since is null`,
          [new Date().toISOString()],
        );
      }
    });
    startMs = Date.now() - killedAt;
  }
  return kills;
}

/** For as long as it goes on: a slow machine is no fault. */
async function untilNothingIsOpen(database: Database): Promise<void> {
  let open = Number.POSITIVE_INFINITY;
  for (let giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(200)) {
    const row = await database.one<{ open: number }>(
      `select count(*) as open from deliveries where state in ('queued', 'sending', 'waiting')`,
    );
    if (row!.open === 0) return;
    if (row!.open < open) giveUpAt = Date.now() + GIVE_UP_MS;
    open = Math.min(open, row!.open);
  }
}
