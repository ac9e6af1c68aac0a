import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import {
  AURORA,
  type CallOptions,
  type DatabasePlace,
  type Deskbell,
  NOTIFICATIONS,
  newDatabasePlace,
  onEachEngine,
  rawCall,
  startDeskbell,
} from './harness.ts';
import { openWire } from './process.ts';

/**
 * What people entrust to the service is sent through every endpoint, marked with canaries, while all is well
 * and while the database refuses, is broken, is gone. No canary may sing: not in the log, not in the
 * metrics, not in the body of an error.
 */
const CANARY = 'c4n4ry';
const PHONE = '+34999000111222';

onEachEngine('secrets', (engine) => {
  let place: DatabasePlace;
  let deskbell: Deskbell;
  let tokens: { access_token: string; refresh_token: string };
  let secrets: string[];
  before(async () => {
    place = await newDatabasePlace(engine);
    deskbell = await startDeskbell(engine, { LOG_LEVEL: 'trace' }, place);
    tokens = (await deskbell.call('POST', '/api/v1/auth/login', { body: AURORA })).json;
    const { access_token, refresh_token } = tokens;
    secrets = [CANARY, PHONE, AURORA.email, AURORA.password, access_token, refresh_token];
  });
  after(async () => {
    await deskbell?.close();
    if (engine === 'sqlite') await place?.remove();
  });

  const stays = (title: string, prepare: () => Promise<void>, codes: string[]) =>
    it(`stay secret ${title}`, async () => {
      await prepare();
      const met = new Set<string>();
      for (const [method, path, options] of everyCall(tokens, title)) {
        const { status, text, json } = await deskbell.call(method, path, options);
        if (status < 400) continue;
        met.add(json.code);
        for (const secret of secrets)
          assert.ok(!text.includes(secret), `${method} ${path} tells ${secret}: ${text}`);
      }
      for (const { text } of [
        await rawCall(deskbell, 'GET', `/%${CANARY}`),
        await rawCall(deskbell, 'PURGE', `/${CANARY}`, { headers: { 'content-type': CANARY } }),
      ]) {
        assert.ok(!text.includes(CANARY), text);
      }
      for (const bytes of [`${CANARY} / HTTP/1.1\r\n\r\n`, `GET / HTTP/1.1\r\n${CANARY}\r\n\r\n`]) {
        const received = await (await openWire(Number(new URL(deskbell.url).port), bytes)).closed;
        assert.match(received, /^HTTP\/1\.1 400 /);
        assert.ok(!received.includes(CANARY), received);
      }
      for (const code of codes) assert.ok(met.has(code), `${code} is not among ${[...met]}`);

      const metrics = (await deskbell.call('GET', '/metrics')).text;
      for (const secret of secrets) {
        const line = deskbell.logged.find((one) => one.includes(secret));
        assert.equal(line, undefined);
        assert.ok(!metrics.includes(secret), `the metrics tell ${secret}`);
      }
      for (const line of deskbell.logged) assert.match(line, /^\{.*\}\n$/);
      assert.ok(deskbell.logged.length > met.size, 'there is a log to look at');
    });

  stays('while all is well', async () => {}, [
    'INVALID_CREDENTIALS',
    'INVALID_TOKEN',
    'VALIDATION_ERROR',
    'NOT_FOUND',
  ]);
  stays(
    'when the database refuses a row and says why',
    () =>
      deskbell.database.script(
        `create unique index canaries on notifications (context) where context like '%says why%'`,
      ),
    ['INTERNAL_ERROR'],
  );
  stays(
    'when the tables are gone',
    () =>
      deskbell.database.script(
        ['notifications', 'users', 'sign_in_failures', 'idempotency_keys']
          .map((table) => `alter table ${table} rename to lost_${table};`)
          .join('\n'),
      ),
    ['INTERNAL_ERROR'],
  );
  if (engine === 'postgres')
    stays('when the database is gone', () => place.remove(), ['SERVICE_UNAVAILABLE']);
});

type Call = [method: string, path: string, options: CallOptions];

function everyCall(
  { access_token: token, refresh_token }: { access_token: string; refresh_token: string },
  title: string,
): Call[] {
  const AUTH = '/api/v1/auth';
  const text = `${CANARY} ${title}`;
  const question = (context: object, rest = {}): CallOptions => ({
    token,
    body: { notification_type: 'user_question_request', conversation_id: 1, context, ...rest },
  });
  const known = question({ question: text, lead_phone: PHONE, [CANARY]: { [CANARY]: text } });
  const calls: Call[] = [
    ['POST', `${AUTH}/login?${CANARY}=${CANARY}`, { body: AURORA }],
    ['POST', `${AUTH}/login`, { body: { email: `${CANARY}@x.example`, password: CANARY } }],
    ['POST', `${AUTH}/login`, { body: { email: AURORA.email, password: CANARY } }],
    ['POST', `${AUTH}/login`, { body: { email: [CANARY], password: { [CANARY]: CANARY } } }],
    ['POST', `${AUTH}/login`, { body: { [CANARY]: CANARY } }],
    ['POST', `${AUTH}/login`, { body: `{"email":"${CANARY}` }],
    ['POST', `${AUTH}/login`, { body: CANARY, headers: { 'content-type': `text/${CANARY}` } }],
    ['POST', `${AUTH}/login`, { body: CANARY.repeat(60_000) }],
    ['POST', `${AUTH}/refresh`, { body: { refresh_token } }],
    ['POST', `${AUTH}/refresh`, { body: { refresh_token: CANARY } }],
    ['POST', `${AUTH}/refresh`, { body: { refresh_token: token } }],
    ['POST', `${AUTH}/logout`, { body: { refresh_token: `${refresh_token}${CANARY}` } }],
    ['GET', `${AUTH}/me`, { token }],
    ['GET', `${AUTH}/me`, { token: CANARY }],
    ['GET', `${AUTH}/me`, { headers: { authorization: `Basic ${CANARY}` } }],
    ['GET', `${NOTIFICATIONS}/?${CANARY}=${CANARY}`, { token }],
    ...['status', 'notification_types', 'cursor', 'limit'].map(
      (name): Call => ['GET', `${NOTIFICATIONS}/?${name}=${CANARY}`, { token }],
    ),
    ['GET', `${NOTIFICATIONS}/${CANARY}`, { token }],
    ['GET', `${NOTIFICATIONS}/4`, { token }],
    ['POST', `${NOTIFICATIONS}/request`, known],
    ['POST', `${NOTIFICATIONS}/request`, known],
    [
      'POST',
      `${NOTIFICATIONS}/request`,
      { ...known, headers: { 'idempotency-key': `${CANARY}-${title.length}` } },
    ],
    ['POST', `${NOTIFICATIONS}/request`, { ...known, headers: { 'idempotency-key': `${CANARY} ${CANARY}` } }],
    ['POST', `${NOTIFICATIONS}/request`, question({ question: text }, { notification_type: CANARY })],
    ['POST', `${NOTIFICATIONS}/request`, question({ question: text }, { conversation_id: CANARY })],
    ['POST', `${NOTIFICATIONS}/request`, question({ question: text, document_id: CANARY })],
    ['POST', `${NOTIFICATIONS}/request`, question({ lead_phone: PHONE, [CANARY]: CANARY })],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { answer: text.repeat(1000) } }],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { answer: { [CANARY]: CANARY } } }],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { resolve_only: CANARY } }],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { answer: text } }],
    ['POST', `${NOTIFICATIONS}/8/answer`, { token, body: { agent_response_to_customer: text } }],
    [
      'POST',
      `${NOTIFICATIONS}/8/answer`,
      { token, body: { agent_response_to_customer: text, resolution_notes: text } },
    ],
    ['POST', `${NOTIFICATIONS}/${CANARY}/answer`, { token, body: { answer: text } }],
    ['DELETE', `${NOTIFICATIONS}/${CANARY}?${CANARY}`, { token }],
    ['PUT', `${NOTIFICATIONS}/${CANARY}`, { token, body: { [CANARY]: CANARY } }],
    ['GET', `/${CANARY}`, {}],
    ['OPTIONS', `/${CANARY}`, {}],
    ['GET', `/readyz?${CANARY}`, {}],
  ];
  const marked = {
    'user-agent': CANARY,
    cookie: `session=${CANARY}`,
    referer: `https://x.example/?${CANARY}`,
    'x-forwarded-for': CANARY,
    'x-request-id': `${CANARY} and more`,
    [`x-${CANARY}`]: CANARY,
  };
  return calls.map(([method, path, options]) => [
    method,
    path,
    { ...options, headers: { ...marked, ...options.headers } },
  ]);
}
