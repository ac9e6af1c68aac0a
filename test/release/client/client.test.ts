import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AskState,
  Deskbell as Client,
  type DeskbellOptions,
} from '../../../clients/typescript/src/index.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { newMerchant, useMerchant } from '../../support/merchants.ts';
import { type Deskbell, startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { type LoopbackProxy, startProxy } from '../faults/proxy.ts';

const SCOPES = ['ask', 'knowledge:read', 'notifications:read'] as const;
const CUSTOMER = { phone: '+14155550132', name: 'Ana' };

describe('the client', () => {
  const shop = useMerchant('sqlite');
  let key: string;
  const connect = (options: Partial<DeskbellOptions> = {}) =>
    new Client({ url: shop.deskbell.url, key, ...options });
  const newQuestion = () => `Where is the parcel ${randomUUID()}?`;
  const ask = async (question = newQuestion()) => {
    const asked = await connect().ask({ question, customer: CUSTOMER });
    assert.ok(asked.status === 'asked');
    return asked;
  };
  before(async () => {
    key = await shop.key(...SCOPES);
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
    // Also a call that waits, but no longer than it may.
    calls = 0;
    const { id } = await ask();
    const full = connect({ fetch: busy(1, 429, '5') as typeof fetch });
    assert.equal((await full.wait(id, { timeoutSeconds: 0.5 })).status, 'waiting');
    assert.equal(calls, 2);
    calls = 0;
    const later = connect({ fetch: busy(9, 429, '3600') as typeof fetch });
    await assert.rejects(later.find('beans'), { status: 429, retryAfterSeconds: 3600 });
    assert.equal(calls, 1);
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
    await conversations.addMessages(id, { from: 'customer', text: 'Thanks!' });
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

describe('the client and a server that restarts', () => {
  let database: Awaited<ReturnType<typeof createDemoDatabase>>;
  let deskbell: Deskbell;
  /** Keeps the address while the server is stopped: another program could take the server's port. */
  let proxy: LoopbackProxy;
  const ports: number[] = [];
  const start = async () => {
    deskbell = await startDeskbell('sqlite', {}, database);
    ports[0] = Number(new URL(deskbell.url).port);
  };
  const stopped = new AbortController();
  before(async () => {
    database = await createDemoDatabase('sqlite', 'weak');
    await start();
    proxy = await startProxy(ports);
  });
  after(async () => {
    // Also if the test has failed: otherwise the client goes on forever.
    stopped.abort();
    await proxy?.close();
    await deskbell?.close();
    await database?.remove();
  });

  it('goes on to wait and to listen, and misses nothing', async () => {
    const url = `http://127.0.0.1:${proxy.port}`;
    const shop = await newMerchant(deskbell);
    const api = new Client({ url, key: await shop.key(...SCOPES) });
    const asked = await api.ask({ question: 'Is it going to rain?', customer: CUSTOMER });
    assert.ok(asked.status === 'asked');
    let answered: AskState | undefined;
    const waiting = api.wait(asked.id, { signal: stopped.signal }).then((state) => {
      answered = state;
    });
    // It is awaited below.
    waiting.catch(() => {});
    const seen: number[] = [];
    const listening = (async () => {
      const options = { after: 0, types: ['notification.requested'] as const, signal: stopped.signal };
      for await (const { data } of api.events(options)) seen.push(data.notification_id);
    })();
    await until('the first question is heard', () => seen.includes(asked.id));

    const closingAt = performance.now();
    await deskbell.close();
    // A poll takes up to 45 seconds.
    assert.ok(performance.now() - closingAt < 20_000, 'the server stops although an assistant waits');
    // Longer than the pause between two polls: the client meets a server that is stopped.
    await sleep(1500);
    await start();
    assert.equal(answered, undefined);
    const next = await api.ask({ question: 'And tomorrow?', customer: CUSTOMER });
    assert.ok(next.status === 'asked');
    await deskbell.call('POST', `/api/v1/notification/${asked.id}/answer`, {
      ...{ token: await deskbell.signIn(shop.owner.email, shop.owner.password), body: { answer: 'No.' } },
    });
    await waiting;
    assert.equal(answered!.status, 'answered');
    await until('the next question is heard', () => seen.includes(next.id));
    stopped.abort();
    await listening;
    assert.equal(new Set(seen).size, seen.length);
  });
});
