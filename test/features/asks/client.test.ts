// The client for TypeScript, from its sources. As a package it is tested in test/release/client/.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import {
  Deskbell as Client,
  DeskbellError,
  type DeskbellOptions,
} from '../../../clients/typescript/src/index.ts';
import { useMerchant } from '../../support/merchants.ts';

const SCOPES = ['ask', 'knowledge:read', 'notifications:read'] as const;
const CUSTOMER = { phone: '+14155550132', name: 'Ana' };

/** Sends the requests, but the first responses are lost. Notes the Idempotency-Key of each. */
function losingFetch(losses: number) {
  const keys: (string | null)[] = [];
  const send: typeof fetch = async (input, init) => {
    keys.push(new Headers(init?.headers).get('idempotency-key'));
    const response = await fetch(input, init);
    if (keys.length > losses) return response;
    await response.arrayBuffer();
    throw new TypeError('fetch failed');
  };
  return { keys, send };
}

describe('the client', () => {
  const shop = useMerchant('sqlite');
  let key: string;
  const connect = (options: Partial<DeskbellOptions> = {}) =>
    new Client({ url: shop.deskbell.url, key, ...options });
  const newQuestion = () => `Where is the parcel ${randomUUID()}?`;
  const ask = async (question = newQuestion(), api = connect()) => {
    const asked = await api.ask({ question, customer: CUSTOMER });
    assert.ok(asked.status === 'asked');
    return asked;
  };
  before(async () => {
    key = await shop.key(...SCOPES);
  });

  it('finds an answer, and gets it from ask without asking anyone', async () => {
    const question = 'Do you sell gift cards?';
    await shop.answer(await shop.raise(question), 'From 20 euros.');
    const [best] = await connect().find(question, { limit: 2 });
    assert.deepEqual([best!.answer, best!.confident], ['From 20 euros.', true]);
    const known = await connect().ask({ question, customer: CUSTOMER });
    assert.ok(known.status === 'known');
    assert.equal(known.answer, 'From 20 euros.');
  });

  it('waits until the merchant answers, and gives back the reference and the metadata', async () => {
    const api = connect();
    const asked = await api.ask({
      support_reason: 'The customer wants to talk to a person.',
      customer: CUSTOMER,
      reference: 'chat-1',
      metadata: { run: 7 },
      deliver: 'assistant',
    });
    assert.ok(asked.status === 'asked');
    const waiting = api.wait(asked.id);
    await shop.answer(asked.id, { agent_response_to_customer: 'I call you.', resolution_notes: 'Called.' });
    const state = await waiting;
    assert.ok(state.status === 'answered');
    assert.deepEqual(
      [state.answer, state.late, state.delivery, state.reference, state.metadata],
      ['I call you.', false, null, 'chat-1', { run: 7 }],
    );
  });

  it('returns the last state when the time is over, and stops with a signal', async () => {
    const { id } = await ask();
    assert.equal((await connect().wait(id, { timeoutSeconds: 0 })).status, 'waiting');
    assert.equal((await connect().wait(id, { timeoutSeconds: 0.3 })).status, 'waiting');
    const stopped = AbortSignal.timeout(50);
    await assert.rejects(connect().wait(id, { signal: stopped }), (error) => error === stopped.reason);
  });

  it('gets the state of a question, lists the open ones page by page, and cancels one', async () => {
    const api = connect();
    const questions = [newQuestion(), newQuestion(), newQuestion()];
    const ids: number[] = [];
    for (const question of questions) ids.push((await ask(question)).id);
    assert.equal((await api.get(ids[1]!)).status, 'waiting');
    const open = async () => {
      const found: [number, string][] = [];
      for await (const { id, question } of api.list({ pageSize: 2 }))
        if (ids.includes(id)) found.push([id, question]);
      return found;
    };
    const pairs = ids.map((id, index): [number, string] => [id, questions[index]!]).reverse();
    assert.deepEqual(await open(), pairs);
    assert.equal((await api.cancel(ids[1]!)).status, 'cancelled');
    assert.equal((await api.get(ids[1]!)).status, 'cancelled');
    assert.equal((await api.wait(ids[1]!)).status, 'cancelled');
    assert.deepEqual(
      await open(),
      pairs.filter(([id]) => id !== ids[1]),
    );
    await assert.rejects(api.get(999_999), { status: 404, code: 'ASK_NOT_FOUND' });
  });

  it('says at once that its url or key is missing', () => {
    const create = (options: object) => () => new Client(options as DeskbellOptions);
    assert.throws(create({ url: shop.deskbell.url }), /^TypeError: key is required/);
    assert.throws(create({ url: shop.deskbell.url, key: '' }), /^TypeError: key is required/);
    assert.throws(create({ key }), /^TypeError: url is required/);
  });

  it('a response that is lost does not make it ask twice', async () => {
    const question = newQuestion();
    const { keys, send } = losingFetch(2);
    const { id } = await ask(question, connect({ fetch: send }));
    assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    assert.match(keys[0]!, /^[\w-]{36}$/);
    const raised = (await shop.get('/notification/?status=requested')).json.filter(
      (one: { context: { question?: string } }) => one.context.question === question,
    );
    assert.deepEqual([raised.length, raised[0].id], [1, id]);
  });

  it('an own key gives the same question again, also after it was answered', async () => {
    const request = { question: newQuestion(), customer: CUSTOMER, if_known: 'raise' } as const;
    const options = { idempotencyKey: randomUUID() };
    const first = await connect().ask(request, options);
    assert.ok(first.status === 'asked');
    await shop.answer(first.id, 'No.');
    const again = await connect().ask(request, options);
    assert.ok(again.status === 'answered');
    assert.deepEqual([again.id, again.answer], [first.id, 'No.']);
  });

  it('waits as long as Retry-After says, and gives up after its retries', async () => {
    let calls = 0;
    const busy = (times: number, status: number, seconds: string) => async (input: string, init: object) => {
      calls += 1;
      if (calls > times) return fetch(input, init);
      const body = { detail: 'Later.', code: 'RATE_LIMITED' };
      return Response.json(body, { status, headers: { 'retry-after': seconds, 'x-request-id': 'r-1' } });
    };
    const startedAt = performance.now();
    await connect({ fetch: busy(1, 429, '1') as typeof fetch }).find('beans');
    assert.ok(performance.now() - startedAt >= 1000);
    assert.equal(calls, 2);

    calls = 0;
    const failing = connect({ fetch: busy(9, 503, '0') as typeof fetch, retries: 1 });
    await assert.rejects(failing.find('beans'), { status: 503, code: 'RATE_LIMITED', requestId: 'r-1' });
    assert.equal(calls, 2);
    calls = 0;
    const later = connect({ fetch: busy(9, 429, '3600') as typeof fetch });
    await assert.rejects(later.find('beans'), { status: 429, retryAfterSeconds: 3600 });
    assert.equal(calls, 1);
  });

  it('an error has the status, the code, the field and the id of the request', async () => {
    const invalid = connect().ask({ question: ' ', customer: CUSTOMER });
    await assert.rejects(invalid, (error) => {
      assert.ok(error instanceof DeskbellError);
      assert.deepEqual([error.status, error.code, error.field], [422, 'VALIDATION_ERROR', 'question']);
      assert.equal(error.detail, error.message);
      assert.match(error.requestId!, /\S/);
      return true;
    });
    await assert.rejects(connect().wait(999_999), { status: 404, code: 'ASK_NOT_FOUND' });
    await assert.rejects(connect({ key: 'dbk_unknown' }).find('beans'), {
      status: 401,
      code: 'INVALID_TOKEN',
    });
    const nowhere = connect({ url: 'http://127.0.0.1:1', retries: 0 });
    await assert.rejects(nowhere.find('beans'), { status: 0, code: 'NETWORK_ERROR' });
  });

  it('keeps a conversation and its messages, page by page', async () => {
    const { conversations } = connect();
    const reference = 'chat-9';
    assert.equal(await conversations.find(reference), null);
    const person = { reference, customer_name: 'Ana', customer_phone: CUSTOMER.phone };
    const made = await conversations.upsert(person);
    const { id } = await conversations.upsert({ ...person, customer_name: 'Ana B.' });
    assert.equal(id, made.id);
    assert.equal((await conversations.get(id)).customer_name, 'Ana B.');
    assert.equal((await conversations.find(reference))!.id, id);

    const at = shop.deskbell.clock.now().getTime() - 3_600_000;
    const said = Array.from({ length: 130 }, (_, n) => ({
      from: n % 2 === 0 ? ('customer' as const) : ('assistant' as const),
      text: `Message ${n}`,
      at: new Date(at + n * 1000).toISOString(),
      message_id: `m-${n}`,
    }));
    assert.deepEqual(await conversations.addMessages(id, said), { stored: 130, repeated: 0 });
    assert.deepEqual(await conversations.addMessages(id, said[0]!), { stored: 0, repeated: 1 });
    const { send } = losingFetch(1);
    const last = { from: 'customer' as const, text: 'Thanks!' };
    await connect({ fetch: send }).conversations.addMessages(id, last);
    const texts: string[] = [];
    for await (const { text } of conversations.messages(id, { pageSize: 50 })) texts.push(text);
    assert.deepEqual(texts, [...said.map(({ text }) => text), 'Thanks!']);
    await assert.rejects(conversations.get(999_999), { status: 404, code: 'CONVERSATION_NOT_FOUND' });
  });

  it('gets the events of its questions', async () => {
    const api = connect();
    const { id } = await ask();
    await shop.answer(id, 'On Sunday.');
    const types = ['notification.requested', 'notification.answered'] as const;
    const seen: string[] = [];
    for await (const event of api.events({ after: 0, types, signal: AbortSignal.timeout(20_000) })) {
      if (event.data.notification_id !== id) continue;
      seen.push(event.type);
      if (event.type !== 'notification.answered') continue;
      assert.equal(event.data.answer, 'On Sunday.');
      break;
    }
    assert.deepEqual(seen, types);
  });
});
