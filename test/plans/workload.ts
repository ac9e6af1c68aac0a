import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordEvent } from '../../src/audit/record.ts';
import { customerMessages } from '../../src/conversations/received.ts';
import { createLogger } from '../../src/log.ts';
import { cleanUp } from '../../src/server.ts';
import { runAsProcess, settingsOf } from '../command.ts';
import {
  Authenticator,
  addPasskey,
  atLocalhost,
  codeOf,
  loginWith,
  signInWithPasskey,
  turnOnTotp,
} from '../factors.ts';
import {
  BOREALIS,
  type CallOptions,
  type Deskbell,
  login,
  logout,
  NOTIFICATIONS,
  OPERATOR,
  QUESTION,
  raise,
  refresh,
  SUPPORT,
} from '../harness.ts';
import { listen } from '../listening.ts';
import { startReceiver } from '../receiver.ts';
import { KNOWLEDGE } from '../teaching.ts';
import type { Statement } from './statements.ts';

const AT_ONCE = 16;

/** Uses the service like one merchant's customers and staff, so that there are rows in every table. */
export async function leaveRows(deskbell: Deskbell, rows: number): Promise<void> {
  const token = await deskbell.signIn();
  await importFiles(deskbell, rows);
  await logout(deskbell, (await login(deskbell)).json.refresh_token);
  await deskbell.call('POST', '/api/v1/auth/login', {
    body: { email: 'nobody@aurora.example', password: 'wrong-one' },
  });
  const deleted = { what: 'notification.deleted', merchantId: 1, who: { kind: 'server' } } as const;
  for (let n = 0; n < rows / 4; n += 1) await recordEvent(deskbell.database, { ...deleted, at: new Date(n) });
  for (let from = 0; from < rows; from += 100) {
    const messages = Array.from({ length: 100 }, (_, n) => ({
      ...{ from: 'customer', text: `Message ${from + n}`, message_id: `m-${from + n}` },
    }));
    const path = `/api/v1/conversation/${((from / 100) % 3) + 1}/messages`;
    assert.equal((await deskbell.call('POST', path, { token, body: { messages } })).status, 200);
  }
  for (let n = 0; n < rows / 4; n += 1) {
    const { id } = await askOf(deskbell, token, n);
    const body = { resolve_only: true };
    if (n % 2 === 0) await deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body });
  }
  const { json: pending } = await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token });
  for (const { id } of pending) await deskbell.call('POST', `${NOTIFICATIONS}/${id}/ungroup`, { token });
  await useFactors(deskbell, OPERATOR);
  const receiver = await startReceiver();
  const endpoint = { url: receiver.url, events: ['notification.answered'] };
  for (let from = 0; from < rows; from += AT_ONCE) {
    // A few events are enough: they are copied like all rows.
    if (from + 2 * AT_ONCE >= rows) await deskbell.call('POST', WEBHOOKS, { token, body: endpoint });
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, n) => {
        const isQuestion = n % 3 > 0;
        const topic = `number ${from + n} organic ${WORDS[(from + n) % WORDS.length]}`;
        // One in eight is not a phone number: its message fails at once.
        const lead_phone = n % 8 === 1 ? 'unknown' : phoneOf(from + n);
        const address = await raise(deskbell, token, {
          ...(isQuestion ? QUESTION : SUPPORT),
          context: isQuestion
            ? { question: `Is ${topic}?`, lead_phone }
            : { support_request_reason: topic, lead_phone },
        });
        if (n % 4 === 0) return;
        const body = isQuestion
          ? { answer: `Yes, ${topic} it is.`, only_send_campaign: n % 2 === 0 }
          : { agent_response_to_customer: 'Sent again.', resolution_notes: topic };
        const headers = { 'idempotency-key': `answer-${from + n}` };
        const { status, text } = await deskbell.call('POST', `${address}/answer`, { token, body, headers });
        assert.equal(status, 200, text);
      }),
    );
  }
  await deskbell.allSent();
  await receiver.close();
}

const WEBHOOKS = '/api/v1/webhooks';

/** One that works, one that fails, and everything that can be done with them. */
async function useWebhooks(deskbell: Deskbell, token: string): Promise<void> {
  const call = async (method: string, path: string, body?: object) => {
    const reply = await deskbell.call(method, WEBHOOKS + path, { token, ...(body ? { body } : {}) });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  const receiver = await startReceiver();
  try {
    const { id } = await call('POST', '', { url: receiver.url });
    await call('POST', `/${id}/test`);
    await call('POST', `/${id}/rotate`, {});
    await raise(deskbell, token);
    await deskbell.allSent();
    receiver.answer = (response) => response.writeHead(500).end();
    await raise(deskbell, token);
    await deskbell.allSent();
    receiver.answer = (response) => response.writeHead(204).end();
    const { event_id } = receiver.received.at(-1)!.json.data;
    await call('POST', `/${id}/replay`, { event_id });
    await call('POST', `/${id}/replay`, { since: new Date(Date.now() - 5000).toISOString() });
    await deskbell.allSent();
    receiver.answer = (response) => response.writeHead(410).end();
    await raise(deskbell, token);
    await deskbell.allSent();
    await call('PATCH', `/${id}`, { enabled: true });
    const first = await call('GET', `/${id}/attempts?limit=1`);
    await call('GET', `/${id}/attempts?limit=1&cursor=${first.next_cursor}`);
    await call('DELETE', `/${id}`);
  } finally {
    await receiver.close();
  }
}

/** An assistant asks for a customer. */
async function askOf(deskbell: Deskbell, token: string, n: number): Promise<{ id: number }> {
  const body = {
    ...{ question: `How about ask ${n}?`, customer: { phone: phoneOf(n), reference: `ask-${n}` } },
    ...{ if_known: 'raise', expires_in_seconds: 60 },
  };
  const { status, json, text } = await deskbell.call('POST', '/api/v1/ask', { token, body });
  assert.equal(status, 200, text);
  return json;
}

const WORDS =
  'coffee roast parcel refund invoice gift grind filter espresso decaf summer winter glass kilo tax hours'.split(
    ' ',
  );

const phoneOf = (n: number) => `+346${String(10_000_000 + n)}`;

/** Runs both imports, each in its own process. Returns the statements that they ran. */
export async function importFiles(deskbell: Deskbell, rows: number): Promise<Statement[]> {
  const folder = deskbell.config.dataDir;
  const files = {
    conversation: ['c.jsonl', (n: number) => ({ reference: `c-${n}`, name: `Name ${n}`, phone: phoneOf(n) })],
    knowledge: [
      'k.jsonl',
      (n: number) => ({
        title: `Title ${n} ${WORDS[n % WORDS.length]}`,
        body: `Body ${n} of ${rows}`,
        ...(n % 3 === 0 && { wordings: [`Wording ${n} of ${rows}`, `Other wording ${n}`] }),
      }),
    ],
  } as const;
  const statements: Statement[] = [];
  for (const [command, [name, lineOf]] of Object.entries(files)) {
    const file = join(folder, name);
    const recorded = join(folder, `${command}.statements`);
    writeFileSync(file, Array.from({ length: rows }, (_, n) => JSON.stringify(lineOf(n))).join('\n'));
    const { code, stderr } = await runAsProcess([command, 'import', file, '--merchant', '1'], {
      env: {
        ...settingsOf(deskbell),
        NODE_OPTIONS: `--import ${new URL('./statements.ts', import.meta.url).href}`,
        RECORD_STATEMENTS_TO: recorded,
      },
    });
    assert.equal(code, 0, stderr);
    statements.push(...(JSON.parse(readFileSync(recorded, 'utf8')) as Statement[]));
  }
  return statements;
}

/** Runs every operation of the API, all kinds of lists and searches, the worker and the clean-up. */
export async function useEverything(deskbell: Deskbell): Promise<void> {
  // Waits until the server has got over the copied rows.
  await deskbell.signIn();
  const tokens = (await login(deskbell)).json;
  const token: string = tokens.access_token;
  const call = (method: string, path: string, options: CallOptions = {}) =>
    deskbell.call(method, path, { token, ...options });
  await login(deskbell, { email: 'nobody@aurora.example', password: 'wrong-one' });
  await refresh(deskbell, tokens.refresh_token);
  await call('POST', '/api/v1/auth/refresh?rotate=true', { body: { refresh_token: tokens.refresh_token } });

  await useFactors(deskbell, BOREALIS);
  for (const path of LISTS) await page(deskbell, token, path);
  // The same lists again when the inbox is large.
  const large = { ...QUESTION, context: { question: 'Q?', more: 'x'.repeat(60_000) } };
  for (let n = 0; n < 25; n += 1) await raise(deskbell, token, large);
  for (const path of [...LISTS, `${NOTIFICATIONS}/?limit=500`]) await page(deskbell, token, path);
  await callEveryOperation(deskbell, token);
  await useWebhooks(deskbell, token);

  const [document] = (await call('GET', `${KNOWLEDGE}/?limit=1`)).json;
  const answers: [raised: object, answer: object][] = [
    [QUESTION, { answer: 'Yes.' }],
    [QUESTION, { answer: 'Yes, as it says.', document_id: document.id }],
    [
      { ...QUESTION, context: { ...QUESTION.context, document_id: document.id } },
      { answer: 'Yes, that one.' },
    ],
    [
      { ...QUESTION, context: { ...QUESTION.context, document_id: 987_654_321 } },
      { answer: 'Yes, a new one.' },
    ],
    [QUESTION, { answer: 'Back on Monday.', only_send_campaign: true }],
    [SUPPORT, { agent_response_to_customer: 'Sent again.', resolution_notes: 'Order 881.' }],
    [SUPPORT, { resolve_only: true }],
  ];
  for (const [index, [raised, body]] of answers.entries()) {
    for (const headers of [{}, { 'idempotency-key': `plans-${index}` }] as const) {
      const address = await raise(deskbell, token, raised);
      assert.equal((await call('POST', `${address}/answer`, { body, headers })).status, 200);
      await call('GET', address);
      await call('GET', `${address}/suggestions`);
      await call('DELETE', address);
    }
  }
  await answerTogether(deskbell, token, document.id);
  await useAsks(deskbell, token);
  await customerMessages.conversationsWith(deskbell.database, phoneOf(7));
  await deskbell.allSent();
  await cleanUp(
    deskbell.database,
    deskbell.config,
    createLogger({ logLevel: 'silent', logPretty: false }),
    new Date(),
  );
  await call('POST', '/api/v1/auth/logout', { body: { refresh_token: tokens.refresh_token } });
}

/** Groups, and one answer for many: with a document, without, and again. */
async function answerTogether(deskbell: Deskbell, token: string, documentId: number): Promise<void> {
  const call = (method: string, path: string, body?: object) =>
    deskbell.call(method, NOTIFICATIONS + path, { token, body });
  for (const more of [{}, { document_id: documentId }]) {
    const ids: number[] = [];
    for (const context of [{ document_id: documentId }, {}]) {
      const question = { ...QUESTION, context: { ...QUESTION.context, ...context } };
      ids.push(Number((await raise(deskbell, token, question)).split('/').at(-1)));
    }
    await call('POST', `/${ids[0]}/ungroup`);
    await call('GET', '/groups');
    await call('GET', `/${ids[0]}/similar`);
    await call('DELETE', `/${ids[0]}/ungroup`);
    const [first] = ids;
    assert.equal((await call('POST', '/answer-many', { ids: [first], answer: 'Yes.', ...more })).status, 200);
    assert.equal((await call('POST', '/answer-many', { ids, answer: 'Yes.', ...more })).status, 200);
  }
}

/** Every end of an ask, and what programs hear of it. */
async function useAsks(deskbell: Deskbell, token: string): Promise<void> {
  const call = (method: string, path: string, body?: object) => deskbell.call(method, path, { token, body });
  const ids: number[] = [];
  for (let n = 0; n < 4; n += 1) ids.push((await askOf(deskbell, token, 1_000_000 + n)).id);
  await askOf(deskbell, token, 1_000_000);
  await call('POST', '/api/v1/ask', { question: 'By number?', customer: { phone: phoneOf(5) } });
  const waiting = call('GET', `/api/v1/ask/${ids[0]}?wait=5`);
  await call('POST', `${NOTIFICATIONS}/${ids[0]}/answer`, { answer: 'Yes.' });
  await waiting;
  await call('DELETE', `/api/v1/ask/${ids[1]}`);
  await call('DELETE', `${NOTIFICATIONS}/${ids[2]}`);
  await deskbell.database.run(
    `update asks set expires_at = '2026-01-15T09:30:00.000Z' where merchant_id = 1 and id = $1`,
    [ids[3]!],
  );
  await call('GET', `/api/v1/ask/${ids[3]}`);
  await useConfidence(deskbell, token);
  await call('GET', '/api/v1/ask?limit=2');
  await call('GET', '/api/v1/events/log?after=5&limit=5');
  (await listen(deskbell, token, { 'last-event-id': '5' })).stop();
}

/** Known answers, judged and taken back, and an ask whose candidate a person confirms. */
async function useConfidence(deskbell: Deskbell, token: string): Promise<void> {
  const call = (method: string, path: string, body?: object) => deskbell.call(method, path, { token, body });
  const [document] = (await call('GET', `${KNOWLEDGE}/?q=title&limit=1`)).json;
  const question = document.title;
  for (let n = 0; n < 40; n += 1) {
    await call('POST', '/api/v1/ask', { question, customer: { phone: phoneOf(n) } });
  }
  const { known, next_cursor } = (await call('GET', `${KNOWLEDGE}/known?limit=5`)).json;
  assert.equal(known.length, 5);
  await call('GET', `${KNOWLEDGE}/known?limit=5&cursor=${next_cursor}`);
  for (const outcome of ['wrong', null, 'right']) {
    const judged = await call('PUT', `${KNOWLEDGE}/known/${known[0].id}/outcome`, { outcome });
    assert.equal(judged.status, 200);
  }
  const asked = { question, customer: { phone: phoneOf(6) }, if_known: 'raise' };
  const { id } = (await call('POST', '/api/v1/ask', asked)).json;
  await call('POST', `${NOTIFICATIONS}/${id}/answer`, { answer: document.body });
  await call('GET', `${KNOWLEDGE}/confidence`);
}

/** Sets up every second factor of a user, and signs in with each. */
async function useFactors(server: Deskbell, credentials: { email: string; password: string }): Promise<void> {
  const deskbell = atLocalhost(server);
  const user = { id: 0, ...credentials };
  const token = await deskbell.signIn(user.email, user.password);
  const { secret, recoveryCodes } = await turnOnTotp(deskbell, user, token);
  const phone = new Authenticator(deskbell.url);
  await addPasskey(deskbell, phone, { token, password: user.password });
  for (const reply of [
    await signInWithPasskey(deskbell, phone),
    await loginWith(deskbell, user, codeOf(deskbell, secret, 1)),
    await loginWith(deskbell, user, recoveryCodes[0]),
  ])
    assert.equal(reply.status, 200, reply.text);
}

const LISTS = [
  `${NOTIFICATIONS}/`,
  `${NOTIFICATIONS}/?limit=5`,
  `${NOTIFICATIONS}/?status=requested&limit=5`,
  `${NOTIFICATIONS}/?status=answered&notification_types=user_question_request&limit=5`,
  `${NOTIFICATIONS}/?notification_types=user_support_request`,
  `${NOTIFICATIONS}/?include=answer,ask&limit=5`,
  `${NOTIFICATIONS}/?include=ask&status=requested&notification_types=user_support_request&limit=5`,
  `${NOTIFICATIONS}/?ids=11,12,13&limit=2`,
  `${NOTIFICATIONS}/?conversation_id=1&limit=5`,
  `${NOTIFICATIONS}/?conversation_id=1&status=answered&updated_since=2026-01-15T09:30:00Z&limit=5`,
  `${KNOWLEDGE}/?limit=5`,
  `${KNOWLEDGE}/?q=organic`,
  `${KNOWLEDGE}/?q=organic%20number%20zeppelin&limit=5`,
  '/api/v1/delivery/?limit=5',
  '/api/v1/delivery/?state=delivered&limit=5',
  '/api/v1/delivery/?state=failed',
  '/api/v1/conversation/?ids=1,2,3',
  '/api/v1/conversation/?reference=c-7',
  '/api/v1/conversation/1/messages?limit=5',
  '/api/v1/overview?days=90',
  '/api/v1/limits',
  '/api/v1/audit?limit=5',
  '/api/v1/audit?what=notification.deleted&limit=5',
  '/api/v1/audit?user_id=1&limit=5',
  '/api/v1/audit?since=2026-01-15T09:30:00Z&limit=5',
];

/** Loads a list and its second page. */
async function page(deskbell: Deskbell, token: string, path: string): Promise<void> {
  const reply = await deskbell.call('GET', path, { token });
  assert.equal(reply.status, 200, `${path}: ${reply.text}`);
  const next = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
  if (next !== undefined) await deskbell.call('GET', next, { token });
}

/** Calls every operation of the OpenAPI document, with its example body. So a new endpoint is called, too. */
async function callEveryOperation(deskbell: Deskbell, token: string): Promise<void> {
  const { json: api } = await deskbell.call('GET', '/openapi.json');
  for (const [template, operations] of Object.entries<Record<string, Operation>>(api.paths)) {
    if (template === '/api/v1/events' || template.endsWith('/logout')) continue;
    for (const [method, operation] of Object.entries(operations)) {
      const body = operation.requestBody?.content['application/json'].schema.examples?.[0];
      const path = template.replaceAll(/\{\w+\}/g, '3');
      const headers = { 'x-deskbell-dashboard': '1' };
      const { status } = await deskbell.call(method.toUpperCase(), path, {
        token,
        headers,
        ...(body ? { body } : {}),
      });
      assert.notEqual(status, 405, template);
    }
  }
}

interface Operation {
  requestBody?: { content: { 'application/json': { schema: { examples?: unknown[] } } } };
}
