import pg from 'pg';
import type { Engine } from '../../../src/database/database.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { openConnection } from '../../support/process.ts';
import { AURORA, type Deskbell, rawCall, startDeskbell } from '../../support/server.ts';
import { CANARY, type Call, callsByDocument, callsByHand, OPERATIONS, PHONE } from './canaries/calls.ts';
import { runCommands, throughSimulator, throughWebhook, throughWhatsApp } from './canaries/channels.ts';
import { type Fault, none, type Size } from './fault.ts';

/** Every leak that was found, by where it was found. */
type Leaks = Record<'log' | 'metrics' | 'errors' | 'commands', string[]>;

export const canaries: Fault = {
  name: 'canaries',
  title: 'secrets, phone numbers and texts on every path, with and without errors',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const leaks: Leaks = { log: [], metrics: [], errors: [], commands: [] };
    const { calls, reached, codes } = await sendThroughApi(engine, size, leaks);
    let sent = 0;
    for (const sendThrough of [throughSimulator, throughWebhook, throughWhatsApp]) {
      await sendThrough(engine, async (sending) => {
        sent += sending.sent;
        await findLeaks(sending.deskbell, [...sending.secrets, CANARY, PHONE, PHONE.slice(1)], leaks);
        if (size === 'short' && sendThrough !== throughWebhook) return;
        const output = await runCommands(sending, size);
        for (const secret of [...sending.secrets, CANARY, AURORA.password])
          if (output.includes(secret)) leaks.commands.push(`${secret}: ${output}`);
        if (!/webhook/.test(output)) leaks.commands.push(`the commands printed nothing: ${output}`);
      });
    }
    for (const [place, lines] of Object.entries(leaks))
      for (const line of new Set(lines)) console.log(`${place}: ${line.slice(0, 500)}`);
    return [
      { what: 'calls with canaries', value: calls, atLeast: 4 * OPERATIONS.length },
      { what: 'messages with canaries, through three channels', value: sent, atLeast: 13 },
      none(
        'operations of openapi.json not covered',
        OPERATIONS.filter(({ method, route }) => !reached.has(`${method} ${route}`)).length,
      ),
      none(
        'error codes not covered',
        [
          'INVALID_CREDENTIALS',
          'INVALID_TOKEN',
          'VALIDATION_ERROR',
          'NOT_FOUND',
          'PAYLOAD_TOO_LARGE',
          'INTERNAL_ERROR',
          'SERVICE_UNAVAILABLE',
        ].filter((code) => !codes.has(code)).length,
      ),
      none('canaries in the log', leaks.log.length),
      none('canaries in the metrics', leaks.metrics.length),
      none('canaries in error bodies', leaks.errors.length),
      none('secrets in the output of commands', leaks.commands.length),
    ];
  },
};

const WORKING = 'while everything works';
const BROKEN = 'when the tables are gone';
/** In the short run every operation is called in these two states. In the others, the calls by hand are enough. */
const WORKING_AND_BROKEN: readonly string[] = [WORKING, BROKEN];

/** The states of the database, one after another, each worse than the one before. */
function* databaseStates(
  engine: Engine,
  deskbell: Deskbell,
  testDatabase: TestDatabase,
): Generator<[title: string, () => Promise<void>, end?: () => Promise<void>]> {
  yield [WORKING, async () => {}];
  const lockHolder = engine === 'postgres' ? new pg.Client(testDatabase.env.DATABASE_URL) : undefined;
  if (lockHolder) {
    yield [
      'while the tables are locked',
      async () => {
        await lockHolder.connect();
        await lockHolder.query(
          'begin; lock table notifications, users, documents, deliveries in access exclusive mode',
        );
      },
      () => lockHolder.end(),
    ];
  }
  yield [
    'when the database refuses a row and says why',
    () =>
      deskbell.database.script(
        `create unique index canaries on notifications (context) where context like '%says why%'`,
      ),
  ];
  yield [
    BROKEN,
    () =>
      deskbell.database.script(
        [
          'notifications',
          'users',
          'sign_in_failures',
          'idempotency_keys',
          'documents',
          'deliveries',
          'conversations',
        ]
          .map((table) => `alter table ${table} rename to lost_${table};`)
          .join('\n'),
      ),
  ];
  yield [
    'when the database is gone',
    () => (engine === 'postgres' ? testDatabase.remove() : deskbell.database.close()),
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
        ...callsByHand({ access_token: token, refresh_token }, title),
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
