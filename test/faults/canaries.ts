import pg from 'pg';
import type { Engine } from '../../src/database/database.ts';
import {
  AURORA,
  type DatabasePlace,
  type Deskbell,
  newDatabasePlace,
  rawCall,
  startDeskbell,
} from '../harness.ts';
import { openWire } from '../process.ts';
import { CANARY, type Call, callsByDocument, callsByHand, OPERATIONS, PHONE } from './canaries/calls.ts';
import { commandsSay, overSimulator, overWebhook, overWhatsApp } from './canaries/channels.ts';
import { type Fault, none } from './fault.ts';

/** Where a canary sang, a line each. */
type Songs = Record<'log' | 'metrics' | 'errors' | 'commands', string[]>;

export const canaries: Fault = {
  name: 'canaries',
  title: 'secrets, telephone numbers and texts through every path, while all is well and while nothing is',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const songs: Songs = { log: [], metrics: [], errors: [], commands: [] };
    const { calls, reached, codes } = await throughTheApi(engine, songs);
    let sent = 0;
    for (const over of [overSimulator, overWebhook, overWhatsApp]) {
      await over(engine, async (sending) => {
        sent += sending.sent;
        await listen(sending.deskbell, [...sending.secrets, CANARY, PHONE, PHONE.slice(1)], songs);
        if (size === 'short' && over !== overWebhook) return;
        const said = await commandsSay(sending);
        for (const secret of [...sending.secrets, CANARY, AURORA.password])
          if (said.includes(secret)) songs.commands.push(`${secret}: ${said}`);
        if (!/webhook/.test(said)) songs.commands.push(`the commands said nothing: ${said}`);
      });
    }
    for (const [where, lines] of Object.entries(songs))
      for (const line of new Set(lines)) console.log(`${where}: ${line.slice(0, 500)}`);
    return [
      { what: 'calls with canaries', value: calls, atLeast: 4 * OPERATIONS.length },
      { what: 'messages with canaries, over three channels', value: sent, atLeast: 13 },
      none(
        'operations of the document not reached',
        OPERATIONS.filter(({ method, route }) => !reached.has(`${method} ${route}`)).length,
      ),
      none(
        'kinds of error not met',
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
      none('canaries in the log', songs.log.length),
      none('canaries in the metrics', songs.metrics.length),
      none('canaries in bodies of errors', songs.errors.length),
      none('secrets in what commands print', songs.commands.length),
    ];
  },
};

/** What the database does meanwhile, one after another; each is worse than the one before. */
function* weathers(
  engine: Engine,
  deskbell: Deskbell,
  place: DatabasePlace,
): Generator<[title: string, () => Promise<void>, end?: () => Promise<void>]> {
  yield ['while all is well', async () => {}];
  const holder = engine === 'postgres' ? new pg.Client(place.env.DATABASE_URL) : undefined;
  if (holder) {
    yield [
      'while the database is stuck',
      async () => {
        await holder.connect();
        await holder.query(
          'begin; lock table notifications, users, documents, deliveries in access exclusive mode',
        );
      },
      () => holder.end(),
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
    'when the tables are gone',
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
    () => (engine === 'postgres' ? place.remove() : deskbell.database.close()),
  ];
}

async function throughTheApi(engine: Engine, songs: Songs) {
  const place = await newDatabasePlace(engine);
  const deskbell = await startDeskbell(engine, { LOG_LEVEL: 'trace' }, place);
  const codes = new Set<string>();
  let calls = 0;
  try {
    const { access_token: token, refresh_token } = (
      await deskbell.call('POST', '/api/v1/auth/login', { body: AURORA })
    ).json;
    const secrets = [CANARY, PHONE, AURORA.email, AURORA.password, token, refresh_token];
    for (const [title, begin, end] of weathers(engine, deskbell, place)) {
      await begin();
      const ask = async ([method, path, options]: Call) => {
        const { status, text, json } = await deskbell.call(method, path, options);
        calls += 1;
        if (status < 400) return;
        codes.add(json.code);
        for (const secret of secrets)
          if (text.includes(secret)) songs.errors.push(`${method} ${path}, ${title}: ${text}`);
      };
      const all = [
        ...callsByDocument(token, title),
        ...callsByHand({ access_token: token, refresh_token }, title),
      ];
      // Those that wait for a stuck database wait together.
      if (end) await Promise.all(all.map(ask));
      else for (const one of all) await ask(one);
      await end?.();
      await belowHttp(deskbell, songs);
      await listen(deskbell, secrets, songs);
    }
    return { calls, codes, reached: reachedRoutes(deskbell) };
  } finally {
    await deskbell.close().catch(() => {});
    if (engine === 'sqlite') await place.remove();
  }
}

async function belowHttp(deskbell: Deskbell, songs: Songs): Promise<void> {
  const texts = [
    (await rawCall(deskbell, 'GET', `/%${CANARY}`)).text,
    (await rawCall(deskbell, 'PURGE', `/${CANARY}`, { headers: { 'content-type': CANARY } })).text,
  ];
  for (const bytes of [`${CANARY} / HTTP/1.1\r\n\r\n`, `GET / HTTP/1.1\r\n${CANARY}\r\n\r\n`]) {
    texts.push(await (await openWire(Number(new URL(deskbell.url).port), bytes)).closed);
  }
  for (const text of texts)
    if (text === '' || text.includes(CANARY)) songs.errors.push(`below HTTP: ${text}`);
}

/** The log so far, and the metrics as they are. */
async function listen(deskbell: Deskbell, secrets: readonly string[], songs: Songs): Promise<void> {
  const metrics = (await deskbell.call('GET', '/metrics')).text;
  for (const secret of secrets) {
    songs.log.push(...deskbell.logged.filter((line) => line.includes(secret)));
    if (metrics.includes(secret)) songs.metrics.push(secret);
  }
  if (deskbell.logged.length < 10) songs.log.push('there is no log to look at');
}

const reachedRoutes = ({ logged }: Deskbell) =>
  new Set(logged.map((line) => JSON.parse(line)).map(({ method, route }) => `${method} ${route}`));
