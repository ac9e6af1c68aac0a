import assert from 'node:assert/strict';
import { cleanUp } from '../../../src/cleanUp.ts';
import { customerMessages } from '../../../src/conversations/received.ts';
import { createLogger } from '../../../src/log.ts';
import { listen } from '../listening.ts';
import { startReceiver } from '../receiver.ts';
import {
  BOREALIS,
  type CallOptions,
  type Deskbell,
  login,
  NOTIFICATIONS,
  QUESTION,
  raise,
  refresh,
  SUPPORT,
} from '../server.ts';
import { until } from '../shops.ts';
import { startPushService } from '../stand-ins/push.ts';
import { KNOWLEDGE } from '../teaching.ts';
import { useErasure } from './erasure.ts';
import { changeKey } from './keyChange.ts';
import { useMails } from './mails.ts';
import { askOf, phoneOf, useFactors, useTeam, WEBHOOKS } from './rows.ts';
import { useUpkeep } from './upkeep.ts';

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

/** A device that gets alerts, and one that is gone. */
async function useAlerts(deskbell: Deskbell, token: string): Promise<void> {
  const service = await startPushService();
  const call = async (method: string, path: string, body?: object) => {
    const reply = await deskbell.call(method, `/api/v1/alerts${path}`, { token, ...(body ? { body } : {}) });
    assert.equal(reply.status, 200, reply.text);
  };
  try {
    const [one, other] = [service.browser(), service.browser()];
    for (const browser of [one, other, one]) await call('PUT', '/subscriptions', browser);
    await call('PATCH', '/settings', { push: true, email_after_minutes: 1, quiet_hours: null });
    await call('POST', '/test');
    const address = await raise(deskbell, token);
    await useTeam(deskbell, token, address);
    await deskbell.allSent();
    assert.ok(service.accepted.length > 2);
    await call('PUT', '/looked');
    service.answer = (response, { endpoint }) => {
      response.writeHead(endpoint === other.endpoint ? 410 : 201).end();
    };
    await raise(deskbell, token);
    await deskbell.allSent();
    await call('DELETE', '/subscriptions', { endpoint: one.endpoint });
  } finally {
    await service.close();
  }
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
  await useMails(deskbell, 6);
  await usePeople(deskbell, token);
  await useWebhooks(deskbell, token);
  await useAlerts(deskbell, token);
  await useErasure(deskbell, token);
  await changeKey(deskbell);

  const [document] = (await call('GET', `${KNOWLEDGE}/?limit=1`)).json;
  const answers: [raised: object, answer: object][] = [
    [QUESTION, { answer: 'Yes, it is.' }],
    [QUESTION, { answer: 'Yes, it is.', teach: { do: 'append', document_id: document.id } }],
    [QUESTION, { answer: 'Yes.', teach: { do: 'new' } }],
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
      await useTeam(deskbell, token, address);
      await call('DELETE', address);
    }
  }
  await answerTogether(deskbell, token, document.id);
  await undo(deskbell, token, document.id);
  await useAsks(deskbell, token);
  await talk(deskbell, token);
  await useUpkeep(deskbell, token);
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

/** Somebody joins, is changed, and gets a new password. */
async function usePeople(deskbell: Deskbell, token: string): Promise<void> {
  const call = async (method: string, path: string, body?: object) => {
    const reply = await deskbell.call(method, `/api/v1${path}`, { token, ...(body && { body }) });
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    return reply.json;
  };
  const tokenOf = ({ link }: { link: string }) => link.split('#')[1];
  const { id } = await call('POST', '/invites', { role: 'user' });
  await call('DELETE', `/invites/${id}`);
  const invite = tokenOf(await call('POST', '/invites', { role: 'user' }));
  await call('POST', '/invites/look', { token: invite });
  const person = { email: 'plans@aurora.example', name: 'Plans', password: 'quiet lemon harbour' };
  await call('POST', '/invites/accept', { token: invite, ...person });
  const team = await call('GET', '/team');
  const userId = team.find(({ email }: { email: string }) => email === person.email).id;
  const reset = tokenOf(await call('POST', `/team/${userId}/reset-link`));
  await call('POST', '/auth/password/reset', { token: reset, password: 'seven brave umbrellas' });
  for (const change of [{ role: 'owner' }, { role: 'user' }, { disabled: true }, { disabled: false }])
    await call('PATCH', `/team/${userId}`, change);
  await call('DELETE', '/auth/sessions');
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
    assert.equal(
      (await call('POST', '/answer-many', { ids: [first], answer: 'Yes, it is.', ...more })).status,
      200,
    );
    assert.equal((await call('POST', '/answer-many', { ids, answer: 'Yes, it is.', ...more })).status, 200);
  }
}

/** A person writes to the customer of the demo's first conversation, which has a long timeline. */
async function talk(deskbell: Deskbell, token: string): Promise<void> {
  const call = async (method: string, path: string, body?: object) => {
    const reply = await deskbell.call(method, `/api/v1/${path}`, { token, ...(body ? { body } : {}) });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  const messages = [
    { from: 'customer', text: 'Is it vegan?' },
    { from: 'assistant', text: 'It is.', message_id: 'wamid.1' },
  ];
  await call('POST', 'conversation/1/messages', { messages });
  const { items, next_before } = await call('GET', 'conversation/1/timeline?limit=20');
  await call('GET', `conversation/1/timeline?limit=20&before=${next_before}`);
  const reply_to = items.find((turn: { can_quote: boolean }) => turn.can_quote).id;
  const { delivery_id } = await call('POST', 'conversation/1/send', {
    ...{ text: 'Hello', undo_seconds: 60, reply_to },
  });
  await call('GET', 'conversation/1/timeline');
  await call('DELETE', `conversation/1/sent/${delivery_id}`);
  const context = { question: 'Is it vegan, too?', lead_phone: 'call me' };
  const address = await raise(deskbell, token, { ...QUESTION, conversation_id: 1, context });
  const notificationId = Number(address.split('/').at(-1));
  await call('POST', `notification/${notificationId}/answer`, { answer: 'Yes.' });
  await call('POST', 'inbox/attention/send-again', { ids: [notificationId] });
  await call('POST', `notification/${notificationId}/recipient`, { phone: '+34611550199' });
  const { delivery_id: failed } = await call('POST', 'conversation/1/send', { text: 'Hello again' });
  await deskbell.allSent();
  const set = `update deliveries set state = 'failed' where merchant_id = 1 and id = $1`;
  await deskbell.database.run(set, [failed]);
  await call('POST', `delivery/${failed}/recipient`, { phone: '+34611550199' });
  for (const filter of [{}, { q: 'vegan' }, { assigned: 'none', type: 'user_question_request' }])
    await call('POST', 'inbox/attention/send-again', { all: true, ...filter });
  await call('POST', 'notification/assign-many', { ids: [notificationId], user_id: null });
  await call('PUT', 'conversation/1/takeover');
  await call('DELETE', 'conversation/1/takeover');
  const { id } = await call('POST', 'saved-replies', { title: 'Hello', text: 'Hello' });
  await call('PATCH', `saved-replies/${id}`, { text: 'Hi' });
  await call('DELETE', `saved-replies/${id}`);
}

/** Answers that can be undone: taken back, reopened when they are resolved, and sent when they are due. */
async function undo(deskbell: Deskbell, token: string, documentId: number): Promise<void> {
  const call = async (path: string, body?: object) => {
    const reply = await deskbell.call('POST', NOTIFICATIONS + path, { token, body });
    assert.equal(reply.status, 200, reply.text);
  };
  const ask = async () => Number((await raise(deskbell, token)).split('/').at(-1));
  const ids = [await ask(), await ask(), await ask()];
  const teach = { do: 'replace', document_id: documentId };
  await call(`/${ids[0]}/answer`, { answer: 'Yes, it is.', undo_seconds: 60, teach });
  await call(`/${ids[0]}/reopen`);
  await call('/resolve-many', { ids, undo_seconds: 60 });
  await call('/reopen-many', { ids });
  await call('/resolve-many', { ids });
  await call('/reopen-many', { ids });
  await call(`/${ids[0]}/answer`, { answer: 'Yes, it is.', undo_seconds: 1, teach });
  await call('/answer-many', { ids: ids.slice(1), answer: 'Yes, it will be.', undo_seconds: 1 });
  deskbell.clock.jump(2);
  for (const id of ids) {
    const address = `${NOTIFICATIONS}/${id}`;
    await until('it is sent', async () => {
      return (await deskbell.call('GET', address, { token })).json.undo_until === null;
    });
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
  await call('POST', `${NOTIFICATIONS}/${ids[0]}/answer`, { answer: 'Yes, it is.' });
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
  ...['open', 'attention', 'answered', 'resolved', 'all'].map((tab) => `/api/v1/inbox?tab=${tab}&limit=5`),
  '/api/v1/inbox?tab=answered&sort=oldest&type=user_question_request&limit=5',
  '/api/v1/inbox?tab=attention&sort=oldest&type=user_question_request&q=organic',
  '/api/v1/inbox?tab=all&q=organic%20beans',
  '/api/v1/inbox?tab=resolved&q=organic&sort=oldest',
  '/api/v1/inbox?ids=11,12,13',
  '/api/v1/inbox?tab=answered&assigned=1&limit=5',
  '/api/v1/inbox?tab=resolved&assigned=1&sort=oldest&limit=5',
  '/api/v1/inbox?tab=open&assigned=1&limit=5',
  '/api/v1/inbox?tab=all&assigned=none&limit=5',
  '/api/v1/inbox/presence?ids=11,12,13',
  '/api/v1/inbox/counts',
  '/api/v1/inbox/counts?assigned=1',
  '/api/v1/inbox/counts?type=user_support_request',
  '/api/v1/inbox/counts?q=organic&type=user_question_request',
  `${KNOWLEDGE}/?limit=5`,
  `${KNOWLEDGE}/?q=organic`,
  `${KNOWLEDGE}/?q=organic%20number%20zeppelin&limit=5`,
  '/api/v1/delivery/?limit=5',
  '/api/v1/delivery/?state=delivered&limit=5',
  '/api/v1/delivery/?state=failed',
  '/api/v1/conversation/?ids=1,2,3',
  '/api/v1/conversation/?reference=c-7',
  '/api/v1/conversation/1/messages?limit=5',
  '/api/v1/conversation/1/timeline?limit=5',
  '/api/v1/saved-replies',
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
