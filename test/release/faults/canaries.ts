import pg from 'pg';
import type { Engine } from '../../../src/database/database.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { openConnection } from '../../support/process.ts';
import { AURORA, type Deskbell, rawCall, startDeskbell } from '../../support/server.ts';
import { CANARY, type Call, callsByDocument, callsByHand, OPERATIONS, PHONE } from './canaries/calls.ts';
import { type Fault, none, type Size } from './fault.ts';

/** Every leak that was found, by where it was found. */
type Leaks = Record<'log' | 'metrics' | 'errors', string[]>;

const CODES = [
  ...['INVALID_CREDENTIALS', 'INVALID_TOKEN', 'VALIDATION_ERROR', 'NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
  ...['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
];

export const canaries: Fault = {
  name: 'canaries',
  title: 'secrets, phone numbers and texts in every request, with and without errors',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const leaks: Leaks = { log: [], metrics: [], errors: [] };
    const { calls, reached, codes } = await sendThroughApi(engine, size, leaks);
    for (const [place, lines] of Object.entries(leaks))
      for (const line of new Set(lines)) console.log(`${place}: ${line.slice(0, 500)}`);
    return [
      { what: 'calls with canaries', value: calls, atLeast: 4 * OPERATIONS.length },
      none(
        'operations of openapi.json not covered',
        OPERATIONS.filter(({ method, route }) => !reached.has(`${method} ${route}`)).length,
      ),
      none('error codes not covered', CODES.filter((code) => !codes.has(code)).length),
      none('canaries in the log', leaks.log.length),
      none('canaries in the metrics', leaks.metrics.length),
      none('canaries in error bodies', leaks.errors.length),
    ];
  },
};

const WORKING = 'while everything works';
const BROKEN = 'when the tables are gone';
const LOST_TABLES =
  'notifications users sign_in_failures idempotency_keys documents deliveries conversations'.split(' ');
/** In the short run every operation is called in these two states. In the others, the calls by hand are enough. */
const WORKING_AND_BROKEN: readonly string[] = [WORKING, BROKEN];

/** The states of the database, one after another, each worse than the one before. */
function* databaseStates(
  engine: Engine,
  { database }: Deskbell,
  testDatabase: TestDatabase,
): Generator<[title: string, () => Promise<unknown>, end?: () => Promise<void>]> {
  yield [WORKING, async () => {}];
  if (engine === 'postgres') {
    const holder = new pg.Client(testDatabase.env.DATABASE_URL);
    const lock = 'begin; lock table notifications, users, documents, deliveries in access exclusive mode';
    yield [
      'while the tables are locked',
      () => holder.connect().then(() => holder.query(lock)),
      () => holder.end(),
    ];
  }
  const refuse = `create unique index canaries on notifications (context) where context like '%says why%'`;
  yield ['when the database refuses a row and says why', () => database.script(refuse)];
  const rename = LOST_TABLES.map((table) => `alter table ${table} rename to lost_${table};`).join('\n');
  yield [BROKEN, () => database.script(rename)];
  yield [
    'when the database is gone',
    () => (engine === 'postgres' ? testDatabase.remove() : database.close()),
  ];
}

async function sendThroughApi(engine: Engine, size: Size, leaks: Leaks) {
  const testDatabase = await createDemoDatabase(engine);
  const deskbell = await startDeskbell(engine, { LOG_LEVEL: 'trace' }, testDatabase);
  const codes = new Set<string>();
  let calls = 0;
  try {
    const { access_token: token, refresh_token } = (
      await deskbell.call('POST', '/api/v1/auth/login', { body: AURORA })
    ).json;
    const secrets = [CANARY, PHONE, AURORA.email, AURORA.password, token, refresh_token];
    for (const [title, begin, end] of databaseStates(engine, deskbell, testDatabase)) {
      await begin();
      const send = async ([method, path, options]: Call) => {
        const { status, text, json } = await deskbell.call(method, path, options);
        calls += 1;
        if (status < 400) return;
        codes.add(json.code);
        for (const secret of secrets)
          if (text.includes(secret)) leaks.errors.push(`${method} ${path}, ${title}: ${text}`);
      };
      const all = [
        ...(size === 'full' || WORKING_AND_BROKEN.includes(title) ? callsByDocument(token, title) : []),
        ...callsByHand(token, title),
      ];
      // With locked tables every call waits, so they wait in parallel.
      if (end) await Promise.all(all.map(send));
      else for (const call of all) await send(call);
      await end?.();
      await sendInvalidHttp(deskbell, leaks);
      await findLeaks(deskbell, secrets, leaks);
    }
    return { calls, codes, reached: reachedRoutes(deskbell) };
  } finally {
    await deskbell.close().catch(() => {});
    if (engine === 'sqlite') await testDatabase.remove();
  }
}

async function sendInvalidHttp(deskbell: Deskbell, leaks: Leaks): Promise<void> {
  const texts = [
    (await rawCall(deskbell, 'GET', `/%${CANARY}`)).text,
    (await rawCall(deskbell, 'PURGE', `/${CANARY}`, { headers: { 'content-type': CANARY } })).text,
  ];
  for (const bytes of [`${CANARY} / HTTP/1.1\r\n\r\n`, `GET / HTTP/1.1\r\n${CANARY}\r\n\r\n`]) {
    texts.push(await (await openConnection(Number(new URL(deskbell.url).port), bytes)).closed);
  }
  for (const text of texts)
    if (text === '' || text.includes(CANARY)) leaks.errors.push(`invalid HTTP: ${text}`);
}

/** Searches the log so far and the current metrics. */
async function findLeaks(deskbell: Deskbell, secrets: readonly string[], leaks: Leaks): Promise<void> {
  const metrics = (await deskbell.call('GET', '/metrics')).text;
  for (const secret of secrets) {
    leaks.log.push(...deskbell.logged.filter((line) => line.includes(secret)));
    if (metrics.includes(secret)) leaks.metrics.push(secret);
  }
  if (deskbell.logged.length < 10) leaks.log.push('the log is empty');
}

const reachedRoutes = ({ logged }: Deskbell) =>
  new Set(logged.map((line) => JSON.parse(line)).map(({ method, route }) => `${method} ${route}`));
