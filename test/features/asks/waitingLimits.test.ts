import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useAsksOf } from '../../support/asking.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, type Reply } from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const PER_USER = 2;
const PER_MERCHANT = 3;
const TRIED = 5;

function assertRefused(reply: Reply, whose: 'user or key' | 'merchant', max: number): void {
  assertError(reply, 429, 'RATE_LIMITED');
  assert.equal(reply.headers.get('retry-after'), '5');
  assert.match(reply.json.detail, new RegExp(`^This ${whose} has ${max} waiting requests`));
}

/** Sends requests that wait, all at once, until only `accepted` of them have no reply. */
async function waitMany(shop: Merchant, token: string, id: number, accepted = PER_USER) {
  const refused: Reply[] = [];
  const ended: Reply[] = [];
  const allRefused = Promise.withResolvers<void>();
  const all = Array.from({ length: TRIED }, async () => {
    const reply = await shop.get(`/ask/${id}?wait=45`, { token });
    if (reply.status === 429) refused.push(reply);
    else ended.push(reply);
    if (refused.length === TRIED - accepted) allRefused.resolve();
  });
  await Promise.race([allRefused.promise, Promise.all(all)]);
  assert.deepEqual([refused.length, ended.length], [TRIED - accepted, 0]);
  return { refused, ended: Promise.all(all).then(() => ended) };
}

function useLimited() {
  const shop = useMerchant('sqlite', {
    WAITING_REQUESTS_PER_USER: String(PER_USER),
    WAITING_REQUESTS_PER_MERCHANT: String(PER_MERCHANT),
  });
  const { ask, customer, question } = useAsksOf(shop);
  const raise = async (): Promise<number> =>
    (await ask({ question: question(), customer: customer() })).json.id;
  return { shop, ask, raise, customer, question };
}

describe('the limits of waiting requests', () => {
  const { shop, ask, raise, customer, question } = useLimited();
  const other = useLimited();
  let key: string;
  before(async () => {
    key = await shop.key();
  });
  /** As the operator sees it. */
  const waitingNow = async () =>
    Number(/^deskbell_waiting_requests (\d+)/m.exec((await shop.deskbell.call('GET', '/metrics')).text)?.[1]);
  const get = (path: string, token = key) => shop.get(path, { token });

  it('hold for each key: one too many gets 429, and those who wait get the answer', async () => {
    const id = await raise();
    const { refused, ended } = await waitMany(shop, key, id);
    for (const reply of refused) assertRefused(reply, 'user or key', PER_USER);
    assert.equal(await waitingNow(), PER_USER);
    const { last_id } = (await get('/events/log?limit=500')).json;
    assertRefused(await get(`/events/log?after=${last_id}&wait=45`), 'user or key', PER_USER);
    // What does not have to wait is not refused.
    assert.equal((await get(`/ask/${id}`)).json.status, 'waiting');
    assert.ok((await get('/events/log?after=0&wait=45')).json.events.length > 0);

    await shop.answer(id, 'Yes, on Fridays.');
    for (const { json } of await ended) assert.equal(json.answer, 'Yes, on Fridays.');
    assert.equal((await get(`/ask/${id}?wait=45`)).json.status, 'answered');
    assert.equal(await waitingNow(), 0);
  });

  it('an ask above them is raised once and does not wait', async () => {
    const id = await raise();
    const { ended } = await waitMany(shop, key, id);
    const body = { question: question(), customer: customer(), wait_seconds: 45 };
    const options = { token: key, headers: { 'idempotency-key': 'full' } };
    const { json: asked } = await ask(body, options);
    assert.deepEqual([asked.status, asked.duplicate], ['asked', false]);
    const { json: repeated } = await ask(body, options);
    assert.deepEqual([repeated.status, repeated.id], ['asked', asked.id]);
    const open = (await get('/ask')).json.asks.filter((one: typeof body) => one.question === body.question);
    assert.equal(open.length, 1);
    await shop.answer(asked.id);
    assert.equal((await get(`/ask/${asked.id}?wait=45`)).json.status, 'answered');
    await shop.answer(id);
    await ended;
  });

  it('hold for all keys of a merchant together, other merchants have their own, and a client that goes makes room', async () => {
    const id = await raise();
    const gone = new AbortController();
    const second = await shop.key();
    const { ended } = await waitMany(shop, key, id);
    const headers = { authorization: `Bearer ${second}` };
    const path = `/api/v1/ask/${id}?wait=45`;
    const leaving = fetch(shop.deskbell.url + path, { headers, signal: gone.signal });
    // Before the others come: whoever comes first gets the last place.
    await until('it waits', async () => (await waitingNow()) === PER_MERCHANT);
    const isFull = async () => {
      const reply = await get(`/ask/${id}?wait=1`, second);
      if (reply.status === 429) assertRefused(reply, 'merchant', PER_MERCHANT);
      return reply.status === 429;
    };
    assert.equal(await isFull(), true);

    const theirs = await other.raise();
    const { ended: otherEnded } = await waitMany(other.shop, await other.shop.key(), theirs);
    await other.shop.delete(`/ask/${theirs}`);
    assert.equal((await otherEnded).length, PER_USER);

    gone.abort();
    await assert.rejects(leaving, { name: 'AbortError' });
    await until('there is room again', async () => !(await isFull()));
    await shop.answer(id);
    await ended;
  });
});
