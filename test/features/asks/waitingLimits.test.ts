import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deskbell as Client } from '../../../clients/typescript/src/index.ts';
import { waitsArrive } from '../../support/arrivals.ts';
import { ASK, useAsks } from '../../support/asking.ts';
import { createKey } from '../../support/machineKeys.ts';
import { connectNew } from '../../support/mcpClients.ts';
import {
  assertError,
  BOREALIS,
  type Deskbell,
  onEachEngine,
  type Reply,
  startDeskbell,
  useDeskbell,
} from '../../support/server.ts';
import { until } from '../../support/shops.ts';

const PER_USER = 2;
const PER_MERCHANT = 3;
const TRIED = 5;
const LOG = '/api/v1/events/log';

function assertRefused(reply: Reply, whose: 'user or key' | 'merchant', max: number): void {
  assertError(reply, 429, 'RATE_LIMITED');
  assert.equal(reply.headers.get('retry-after'), '5');
  assert.match(reply.json.detail, new RegExp(`^This ${whose} has ${max} waiting requests`));
}

/** Sends requests that wait, all at once, until only `accepted` of them have no reply. */
async function waitMany(deskbell: Deskbell, token: string, id: number, accepted: number) {
  const refused: Reply[] = [];
  const ended: Reply[] = [];
  const allRefused = Promise.withResolvers<void>();
  const all = Array.from({ length: TRIED }, async () => {
    const reply = await deskbell.call('GET', `${ASK}/${id}?wait=45`, { token });
    if (reply.status === 429) refused.push(reply);
    else ended.push(reply);
    if (refused.length === TRIED - accepted) allRefused.resolve();
  });
  await Promise.race([allRefused.promise, Promise.all(all)]);
  assert.deepEqual([refused.length, ended.length], [TRIED - accepted, 0]);
  return { refused, ended: Promise.all(all).then(() => ended) };
}

onEachEngine('the limits of waiting requests', (engine) => {
  const deskbell = useDeskbell(engine, {
    WAITING_REQUESTS_PER_USER: String(PER_USER),
    WAITING_REQUESTS_PER_MERCHANT: String(PER_MERCHANT),
  });
  const { ask, answer, customer, question } = useAsks(deskbell);
  const raise = async (): Promise<number> =>
    (await ask({ question: question(), customer: customer() })).json.id;
  let key: string;
  before(async () => {
    key = await createKey(deskbell);
  });
  /** As the operator sees it. */
  const waitingNow = async () =>
    Number(/^deskbell_waiting_requests (\d+)/m.exec((await deskbell.call('GET', '/metrics')).text)?.[1]);
  const get = (path: string, token = key) => deskbell.call('GET', path, { token });

  it('hold for each key: one too many gets 429, and those who wait get the answer', async () => {
    const id = await raise();
    const { refused, ended } = await waitMany(deskbell, key, id, PER_USER);
    for (const reply of refused) assertRefused(reply, 'user or key', PER_USER);
    assert.equal(await waitingNow(), PER_USER);
    const { last_id } = (await get(`${LOG}?limit=500`)).json;
    assertRefused(await get(`${LOG}?after=${last_id}&wait=45`), 'user or key', PER_USER);
    // What does not have to wait is not refused.
    assert.equal((await get(`${ASK}/${id}`)).json.status, 'waiting');
    assert.ok((await get(`${LOG}?after=0&wait=45`)).json.events.length > 0);

    await answer(id);
    assert.deepEqual(
      (await ended).map(({ json }) => json.answer),
      ['Yes, on Fridays.', 'Yes, on Fridays.'],
    );
    assert.equal((await get(`${ASK}/${id}?wait=45`)).json.status, 'answered');
    assert.equal(await waitingNow(), 0);
    // They made room.
    const next = await raise();
    const again = await waitMany(deskbell, key, next, PER_USER);
    await answer(next);
    assert.equal((await again.ended).length, PER_USER);
  });

  it('an ask above them is raised once and does not wait', async () => {
    const id = await raise();
    const { ended } = await waitMany(deskbell, key, id, PER_USER);
    const body = { question: question(), customer: customer(), wait_seconds: 45 };
    const options = { token: key, headers: { 'idempotency-key': `full-${engine}` } };
    const asked = await ask(body, options);
    assert.deepEqual([asked.status, asked.json.status, asked.json.duplicate], [200, 'asked', false]);
    const repeated = await ask(body, options);
    assert.deepEqual(
      [repeated.status, repeated.json.status, repeated.json.id],
      [200, 'asked', asked.json.id],
    );
    const open = (await get(ASK)).json.asks.filter(
      (one: { question: string }) => one.question === body.question,
    );
    assert.equal(open.length, 1);
    await answer(asked.json.id);
    assert.equal((await get(`${ASK}/${asked.json.id}?wait=45`)).json.status, 'answered');
    await answer(id);
    await ended;
  });

  it('hold for all keys of a merchant together, other merchants have their own, and a client that goes makes room', async () => {
    const id = await raise();
    const gone = new AbortController();
    const [first, second] = [key, await createKey(deskbell)];
    const { ended } = await waitMany(deskbell, first, id, PER_USER);
    const headers = { authorization: `Bearer ${second}` };
    const leaving = fetch(`${deskbell.url}${ASK}/${id}?wait=45`, { headers, signal: gone.signal });
    // Before the others come: whoever comes first gets the last place.
    await until('it waits', async () => (await waitingNow()) === PER_MERCHANT);
    const isFull = async () => {
      const reply = await get(`${ASK}/${id}?wait=1`, second);
      if (reply.status === 429) assertRefused(reply, 'merchant', PER_MERCHANT);
      return reply.status === 429;
    };
    assert.equal(await isFull(), true);

    const other = await createKey(deskbell, ['ask'], BOREALIS);
    const theirs = await ask(
      { question: question(), customer: customer(), if_known: 'raise' },
      { token: other },
    );
    const { ended: otherEnded } = await waitMany(deskbell, other, theirs.json.id, PER_USER);
    await deskbell.call('DELETE', `${ASK}/${theirs.json.id}`, { token: other });
    assert.equal((await otherEnded).length, PER_USER);

    gone.abort();
    await assert.rejects(leaving, { name: 'AbortError' });
    while (await isFull()) await sleep(10);
    await answer(id);
    await ended;
  });

  // On SQLite a read is over before the connection can close.
  it('a client that goes during the first read takes no place', { skip: engine === 'sqlite' }, async () => {
    const id = await raise();
    const gone = new AbortController();
    await deskbell.database.transaction(async (tx) => {
      await tx.run('lock table asks in access exclusive mode');
      const arrived = waitsArrive(PER_USER);
      const leaving = Array.from({ length: PER_USER }, () =>
        fetch(`${deskbell.url}${ASK}/${id}?wait=45`, {
          headers: { authorization: `Bearer ${key}` },
          signal: gone.signal,
        }),
      );
      const closed = (await arrived).map((response) => once(response, 'close'));
      gone.abort();
      for (const one of leaving) await assert.rejects(one, { name: 'AbortError' });
      await Promise.all(closed);
    });
    const { ended } = await waitMany(deskbell, key, id, PER_USER);
    await answer(id);
    assert.equal((await ended).length, PER_USER);
  });

  it('an assistant over MCP reads that it may not wait, and can ask without', async () => {
    const id = await raise();
    const { ended } = await waitMany(deskbell, key, id, PER_USER);
    const assistant = await connectNew(deskbell, key);
    const refused = await assistant.use('get_answer', { id, wait_seconds: 45 });
    assert.equal(refused.isError, true);
    assert.match(refused.content[0].text, /waiting requests.* Do not wait, or try again in 5 s/);
    assert.equal((await assistant.use('get_answer', { id })).structuredContent.status, 'waiting');
    await assistant.close();
    await answer(id);
    await ended;
  });

  it('the client does not ask again before the time that the server names', async () => {
    const id = await raise();
    const { ended } = await waitMany(deskbell, key, id, PER_USER);
    const statuses: number[] = [];
    const counted: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      statuses.push(response.status);
      return response;
    };
    const client = new Client({ url: deskbell.url, key, fetch: counted });
    // Less than the five seconds that the server names, and enough for a slow first call. The last call does not wait.
    assert.equal((await client.wait(id, { timeoutSeconds: 4 })).status, 'waiting');
    assert.deepEqual(statuses, [429, 200]);
    await answer(id);
    await ended;
  });

  it('0 turns them off', async () => {
    const unlimited = await startDeskbell(engine, {
      WAITING_REQUESTS_PER_USER: '0',
      WAITING_REQUESTS_PER_MERCHANT: '0',
    });
    try {
      const asks = useAsks(unlimited);
      const id = (await asks.ask({ question: asks.question(), customer: asks.customer() })).json.id;
      const waiting = Array.from({ length: TRIED }, () => asks.call('GET', `${ASK}/${id}?wait=45`));
      await asks.answer(id);
      assert.deepEqual(
        (await Promise.all(waiting)).map(({ json }) => json.status),
        waiting.map(() => 'answered'),
      );
    } finally {
      await unlimited.close();
    }
  });
});
