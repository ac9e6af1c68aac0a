import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type Service, startPostgres } from '../../../scripts/services.ts';
import { readConfig } from '../../../src/config.ts';
import type { Database } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { AURORA, call } from '../../support/server.ts';
import { ASK, type Asked, runAsk, type Tokens } from './asks/assistants.ts';
import { startEndpoint } from './asks/endpoint.ts';
import { type ReadEvent, type Reader, readLog, startLogReader, startStreamReader } from './asks/readers.ts';
import { anyOf, type Client, createClient } from './client.ts';
import { shortenWaits, type WaitLimits } from './disturbances.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { type KillableServer, startKillableServer } from './servers.ts';

interface Options {
  kills: number;
  /** PostgreSQL is shut down immediately and restarted. */
  outages: number;
  assistants: number;
  asksMin: number;
  waits: WaitLimits;
}

const SIZES: Record<'short' | 'full', Options> = {
  short: {
    kills: 2,
    outages: 1,
    assistants: 8,
    asksMin: 20,
    waits: { retryMs: 200, settleMs: 2000, leaseMs: 2000 },
  },
  full: {
    kills: 30,
    outages: 6,
    assistants: 16,
    asksMin: 500,
    // The lease stays longer than any attempt.
    waits: { retryMs: 500, settleMs: 4000, leaseMs: 13_000 },
  },
};
const DISTURB_AFTER_MS = [200, 1000] as const;
const OUTAGE_MS = [300, 2000] as const;
const READERS_OF_EACH_KIND = 3;
/** What a reader has not got by then counts as missed. */
const GIVE_UP_MS = 90_000;

const between = ([from, to]: readonly [number, number]) => from + Math.random() * (to - from);

export const asks: Fault = {
  name: 'asks',
  title: 'servers are killed and PostgreSQL fails while assistants ask, wait and get events',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const options = SIZES[size];
    const isPostgres = engine === 'postgres';
    const postgres = isPostgres
      ? await startPostgres(findProgram('postgres')!, { durable: size === 'full' })
      : undefined;
    // For the files that a server writes.
    const { env: folder, remove } = await createTestDatabase('sqlite');
    const env = {
      ...folder,
      ...(postgres ? { DATABASE_URL: postgres.url, SECRET_KEY: newSecretKey() } : {}),
      DEMO: 'true',
      LOG_LEVEL: 'silent',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'true',
    };
    const servers: KillableServer[] = [];
    const running: { stop(): Promise<void> }[] = [];
    let database: Database | undefined;
    const client = createClient(servers, { retryMs: 100, databaseFails: true });
    try {
      for (let n = isPostgres ? 2 : 1; n > 0; n -= 1) servers.push(await startKillableServer(env));
      const tokens = await createTokens(servers[0]!);
      const endpoint = await startEndpoint(servers[0]!, tokens.owner);
      database = await openDatabase(readConfig(env), 'command');
      running.push(endpoint, shortenWaits(database, options.waits));
      const readers = Array.from({ length: READERS_OF_EACH_KIND }, () => [
        startLogReader(servers, tokens.key),
        startStreamReader(servers, tokens.key),
      ]).flat();
      running.push(...readers);
      const asked: Asked[] = [];
      let disturbed = false;
      const assistants = Promise.all(
        Array.from({ length: options.assistants }, async (_, first) => {
          for (let n = first; !disturbed || asked.length < options.asksMin; n += options.assistants)
            asked.push(await runAsk(client, tokens, n));
        }),
      );
      // An error is reported where the promise is awaited.
      assistants.catch(() => {});
      await disturb(servers, postgres, options).finally(() => {
        disturbed = true;
      });
      await assistants;
      const log = await readLog(client, tokens.key);
      const last = log.at(-1)?.id ?? 0;
      const areAllTold = () =>
        readers.every(({ events }) => (events.at(-1)?.id ?? 0) >= last) && endpoint.lost(log) === 0;
      for (const giveUpAt = Date.now() + GIVE_UP_MS; !areAllTold() && Date.now() < giveUpAt; await sleep(50));
      return [
        { what: 'kills', value: options.kills },
        ...(postgres ? [{ what: 'times that PostgreSQL was stopped', value: options.outages }] : []),
        { what: 'requests repeated', value: client.repeated(), atLeast: 1 },
        ...(await askFindings(database, client, tokens, asked)),
        ...logFindings(log, asked),
        ...readerFindings(log, readers),
        ...endpoint.findings(log),
      ];
    } finally {
      client.stop();
      await Promise.all(running.map((part) => part.stop()));
      await Promise.all(servers.map((server) => server.stop()));
      await database?.close();
      await postgres?.stop();
      await remove();
    }
  },
};

async function createTokens({ url }: KillableServer): Promise<Tokens> {
  const owner: string = (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token;
  const body = { name: 'Assistant', scopes: ['ask', 'knowledge:read'] };
  const { json } = await call(url, 'POST', '/api/v1/keys', { token: owner, body });
  return { owner, key: json.key };
}

async function disturb(
  servers: readonly KillableServer[],
  postgres: Service | undefined,
  { kills, outages }: Options,
): Promise<void> {
  const every = Math.ceil(kills / outages);
  for (let n = 0; n < kills; n += 1) {
    await sleep(between(DISTURB_AFTER_MS));
    await anyOf(servers).killAndRestart();
    if (!postgres || (n + 1) % every !== 0) continue;
    await sleep(between(DISTURB_AFTER_MS));
    await postgres.halt('SIGQUIT');
    await sleep(between(OUTAGE_MS));
    await postgres.resume();
  }
}

async function askFindings(
  database: Database,
  client: Client,
  { key: token }: Tokens,
  asked: readonly Asked[],
): Promise<Finding[]> {
  let lost = 0;
  for (const { id, reference } of asked) {
    const { json } = await client.send('GET', `${ASK}/${id}`, { token });
    if (json.reference !== reference) lost += 1;
  }
  const stored = await database.one<{ asks: number }>(
    `select count(*) as asks from asks where reference like 'ask-%'`,
  );
  const answers = asked.filter(({ answer }) => answer !== undefined);
  const others = asked.filter(({ answer }) => answer === undefined);
  const isWrong = ({ heard, answer, reference }: Asked) =>
    heard !== undefined && (heard.answer !== answer || heard.reference !== reference);
  return [
    { what: 'acknowledged asks', value: asked.length },
    none('acknowledged asks lost', lost),
    none('asks raised twice', stored!.asks - asked.length),
    { what: 'acknowledged answers', value: answers.length, atLeast: 1 },
    none('acknowledged answers never heard', answers.filter(({ heard }) => !heard).length),
    { what: 'asks that ended in another way', value: others.length, atLeast: 1 },
    none('… of which the assistant never heard', others.filter(({ heard }) => !heard).length),
    none('asks of which the assistant heard something wrong', asked.filter(isWrong).length),
  ];
}

function logFindings(log: readonly ReadEvent[], asked: readonly Asked[]): Finding[] {
  const told = new Map<string, number>();
  for (const { type, data } of log) {
    const change = `${type} ${data.notification_id}`;
    if (type.startsWith('notification.')) told.set(change, (told.get(change) ?? 0) + 1);
  }
  const changes = asked.flatMap(({ id, events }) => events.map((type) => `${type} ${id}`));
  return [
    { what: 'acknowledged changes', value: changes.length },
    none('acknowledged changes without an event', changes.filter((change) => !told.has(change)).length),
    none('changes with two events', [...told.values()].filter((times) => times > 1).length),
    none('gaps in the positions of the log', (log.at(-1)?.id ?? 0) - log.length),
  ];
}

function readerFindings(log: readonly ReadEvent[], readers: readonly Reader[]): Finding[] {
  const read = readers.map(({ events }) => events.slice().map(({ id }) => id));
  const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);
  const resumed = sum(readers.map((reader) => reader.resumed()));
  const disordered = read.map((ids) => ids.filter((id, n) => id <= (ids[n - 1] ?? 0)).length);
  const missing = read.map((ids) => {
    const seen = new Set(ids);
    return log.filter(({ id }) => !seen.has(id)).map(({ id }) => id);
  });
  const below = missing.map((ids, n) => ids.filter((id) => id < (read[n]!.at(-1) ?? 0)).length);
  return [
    { what: 'readers of the log and of streams', value: readers.length },
    { what: '… times that they resumed', value: resumed, atLeast: readers.length },
    { what: 'events that they were told', value: sum(read.map(({ length }) => length)) },
    none('events told twice or out of order', sum(disordered)),
    none('positions that appeared below one that was read', sum(below)),
    none('events never told', sum(missing.map(({ length }) => length))),
  ];
}
