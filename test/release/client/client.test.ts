import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Deskbell as Client, type DeskbellOptions } from '../../../clients/typescript/src/index.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
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

  it('says at once that its url or key is missing', () => {
    const create = (options: object) => () => new Client(options as DeskbellOptions);
    assert.throws(create({ url: shop.deskbell.url, key: '' }), /^TypeError: key is required/);
    assert.throws(create({ key }), /^TypeError: url is required/);
  });

  it('returns the last state when the time is over, and stops with a signal', async () => {
    const { id } = await ask();
    for (const timeoutSeconds of [0, 0.3])
      assert.equal((await connect().wait(id, { timeoutSeconds })).status, 'waiting');
    const stopped = AbortSignal.timeout(50);
    await assert.rejects(connect().wait(id, { signal: stopped }), (error) => error === stopped.reason);
  });

  it('lists the open questions page by page, and cancels one', async () => {
    const api = connect();
    const ids: number[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await ask()).id);
    const open = async () => {
      const found: number[] = [];
      for await (const { id } of api.list({ pageSize: 2 })) if (ids.includes(id)) found.push(id);
      return found;
    };
    assert.deepEqual(await open(), ids.toReversed());
    assert.equal((await api.cancel(ids[1]!)).status, 'cancelled');
    for (const state of [await api.get(ids[1]!), await api.wait(ids[1]!)])
      assert.equal(state.status, 'cancelled');
    assert.deepEqual(await open(), [ids[2], ids[0]]);
  });

  it('waits as long as Retry-After says, and gives up after its retries', async () => {
    const { id } = await ask();
    let calls = 0;
    /** Responds so to the first calls. */
    const busy = (times: number, status: number, seconds: string, retries = 3) => {
      calls = 0;
      const send = async (input: string, init: object) => {
        calls += 1;
        if (calls > times) return fetch(input, init);
        const body = { detail: 'Later.', code: 'RATE_LIMITED' };
        return Response.json(body, { status, headers: { 'retry-after': seconds, 'x-request-id': 'r-1' } });
      };
      return connect({ fetch: send as typeof fetch, retries });
    };
    const startedAt = performance.now();
    await busy(1, 429, '1').find('beans');
    assert.ok(performance.now() - startedAt >= 1000);
    assert.equal(calls, 2);
    const refused = { status: 503, code: 'RATE_LIMITED', requestId: 'r-1' };
    await assert.rejects(busy(9, 503, '0', 1).find('beans'), refused);
    assert.equal(calls, 2);
    // Also a call that waits, but no longer than it may.
    assert.equal((await busy(1, 429, '5').wait(id, { timeoutSeconds: 0.5 })).status, 'waiting');
    assert.equal(calls, 2);
    await assert.rejects(busy(9, 429, '3600').find('beans'), { status: 429, retryAfterSeconds: 3600 });
    assert.equal(calls, 1);
  });

  it('keeps a conversation and its messages, page by page', async () => {
    const { conversations } = connect();
    const reference = 'chat-9';
    assert.equal(await conversations.find(reference), null);
    const person = { reference, customer_name: 'Ana', customer_phone: CUSTOMER.phone };
    const { id } = await conversations.upsert(person);
    assert.equal((await conversations.upsert({ ...person, customer_name: 'Ana B.' })).id, id);
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
    const texts: string[] = [];
    for await (const { text } of conversations.messages(id, { pageSize: 50 })) texts.push(text);
    assert.deepEqual(
      texts,
      said.map(({ text }) => text),
    );
    await assert.rejects(conversations.get(999_999), { status: 404, code: 'CONVERSATION_NOT_FOUND' });
  });
});

describe('the client and a server that restarts', () => {
  let database: TestDatabase;
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
    let failures = 0;
    const counting: typeof fetch = (input, init) =>
      fetch(input, init).catch((error) => {
        failures += 1;
        throw error;
      });
    const shop = await newMerchant(deskbell);
    const url = `http://127.0.0.1:${proxy.port}`;
    const api = new Client({ url, key: await shop.key(...SCOPES), fetch: counting });
    const asked = await api.ask({ question: 'Is it going to rain?', customer: CUSTOMER });
    assert.ok(asked.status === 'asked');
    let hasEnded = false;
    const waiting = api.wait(asked.id, { signal: stopped.signal }).finally(() => {
      hasEnded = true;
    });
    // It is awaited below.
    waiting.catch(() => {});
    const seen: number[] = [];
    const listening = (async () => {
      const types = ['notification.requested'] as const;
      for await (const { data } of api.events({ after: 0, types, signal: stopped.signal }))
        seen.push(data.notification_id);
    })();
    await until('the first question is heard', () => seen.includes(asked.id));

    const closingAt = performance.now();
    await deskbell.close();
    // A poll takes up to 45 seconds.
    assert.ok(performance.now() - closingAt < 20_000, 'the server stops although an assistant waits');
    failures = 0;
    await until('both meet a server that is stopped', () => failures >= 3);
    await start();
    assert.equal(hasEnded, false);
    const next = await api.ask({ question: 'And tomorrow?', customer: CUSTOMER });
    assert.ok(next.status === 'asked');
    const token = await deskbell.signIn(shop.owner.email, shop.owner.password);
    await deskbell.call('POST', `/api/v1/notification/${asked.id}/answer`, {
      token,
      body: { answer: 'No.' },
    });
    assert.equal((await waiting).status, 'answered');
    await until('the next question is heard', () => seen.includes(next.id));
    stopped.abort();
    await listening;
    assert.equal(new Set(seen).size, seen.length);
  });
});
