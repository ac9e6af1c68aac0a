import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BOREALIS, type Deskbell, onEachEngine, raise, startDeskbell } from '../../support/server.ts';
import {
  AURORA_ID,
  BOREALIS_ID,
  openShop,
  phoneOf,
  putAll,
  range,
  type Shop,
  until,
} from '../../support/shops.ts';

/** Half the time-out of a call. On an idle machine it takes less than one second. */
const AT_ONCE_MAX_MS = 5000;

const hang = () => {};

/** A server whose merchants each have their own receiver. */
function useShops(engine: 'sqlite' | 'postgres', count: number, settings: Record<string, string> = {}) {
  const shops: Shop[] = [];
  const world = { shops } as { shops: Shop[]; deskbell: Deskbell };
  before(async () => {
    world.deskbell = await startDeskbell(engine, settings);
    for (const n of range(0, count)) {
      shops.push(await openShop(world.deskbell, [AURORA_ID, BOREALIS_ID][n]));
    }
  });
  after(async () => {
    // Close the receivers first: this ends the hanging calls that the server would wait for.
    for (const { receiver } of shops) await receiver.close();
    await world.deskbell?.close();
  });
  return world;
}

/** Answers a question of Borealis over HTTP. Returns the time until the message reached its receiver. */
async function timeAnswer(deskbell: Deskbell, { receiver }: Shop): Promise<number> {
  const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  const address = await raise(deskbell, token, {
    notification_type: 'user_question_request',
    conversation_id: 4,
    context: { question: 'Is it open?' },
  });
  const before = receiver.received.length;
  const reply = await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Until six.' } });
  assert.equal(reply.status, 200, reply.text);
  const answeredAt = performance.now();
  await until('the message arrives', () => receiver.received.length > before);
  return performance.now() - answeredAt;
}

onEachEngine('a merchant whose receiver hangs', (engine) => {
  const world = useShops(engine, 2);

  it('does not delay another merchant’s message, with 200 messages queued', async (t) => {
    const { deskbell, shops } = world;
    const [hanging, other] = shops as [Shop, Shop];
    hanging.receiver.answer = hang;
    await putAll(
      deskbell,
      range(0, 200).map((n) => ({ merchantId: hanging.id, recipient: phoneOf(n) })),
    );
    await until('its channel is full', () => hanging.receiver.received.length === 4);
    const tookMs = await timeAnswer(deskbell, other);
    t.diagnostic(`${engine}: ${tookMs.toFixed(0)} ms from the answer to the other merchant's receiver`);
    assert.ok(tookMs < AT_ONCE_MAX_MS, `${tookMs} ms`);
    assert.equal(hanging.receiver.received.length, 4, 'exactly four calls at once');
  });
});

onEachEngine('five merchants whose receivers hang at once', (engine) => {
  const world = useShops(engine, 7);

  it('do not delay a sixth', async (t) => {
    const { deskbell, shops } = world;
    const [, other, ...hanging] = shops as [Shop, Shop, ...Shop[]];
    for (const { receiver } of hanging) receiver.answer = hang;
    await putAll(
      deskbell,
      hanging.flatMap(({ id }) => range(0, 40).map((n) => ({ merchantId: id, recipient: phoneOf(n) }))),
    );
    const calls = () => hanging.reduce((sum, { receiver }) => sum + receiver.received.length, 0);
    await until('all slots are taken', () => calls() >= 16);
    const tookMs = await timeAnswer(deskbell, other);
    t.diagnostic(`${engine}: ${tookMs.toFixed(0)} ms from the answer to the sixth merchant's receiver`);
    assert.ok(tookMs < AT_ONCE_MAX_MS, `${tookMs} ms`);
    await until('each of the five has its four calls', () => calls() === 20);
    for (const { receiver } of hanging) assert.equal(receiver.received.length, 4);
  });
});

for (const [cap, settings] of [
  [4, {}],
  [2, { WORKER_CONCURRENCY_PER_ENDPOINT: '2' }],
] as const) {
  onEachEngine(`with at most ${cap} calls at once to a receiver`, (engine) => {
    const world = useShops(engine, 1, settings);

    it('all messages are sent, and there are never more calls', async () => {
      const { deskbell, shops } = world;
      const [shop] = shops as [Shop];
      let open = 0;
      let most = 0;
      const full = Promise.withResolvers<void>();
      shop.receiver.answer = async (response) => {
        open += 1;
        most = Math.max(most, open);
        if (open === cap) full.resolve();
        await full.promise;
        // One more would come now.
        await sleep(20);
        open -= 1;
        response.writeHead(204).end();
      };
      await putAll(
        deskbell,
        range(0, 40).map((n) => ({ merchantId: shop.id, recipient: phoneOf(n) })),
      );
      await deskbell.allSent();
      assert.equal(shop.receiver.received.length, 40);
      assert.equal(most, cap);
    });
  });
}

onEachEngine('merchants with a backlog', (engine) => {
  const world = useShops(engine, 3);

  it('take turns: nobody waits for another’s backlog', async (t) => {
    const { deskbell, shops } = world;
    const sent = shops.map(() => 0);
    let lead = 0;
    for (const [n, { receiver }] of shops.entries()) {
      receiver.answer = (response) => {
        sent[n]! += 1;
        lead = Math.max(lead, Math.max(...sent) - Math.min(...sent));
        response.writeHead(204).end();
      };
    }
    await putAll(
      deskbell,
      shops.flatMap(({ id }) => range(0, 50).map((n) => ({ merchantId: id, recipient: phoneOf(n) }))),
    );
    await deskbell.allSent();
    assert.deepEqual(sent, [50, 50, 50]);
    t.diagnostic(`${engine}: the first was at most ${lead} of 50 messages ahead of the last`);
    assert.ok(lead <= 25, `one was ${lead} messages ahead of another`);
  });
});

onEachEngine('campaigns to a slow receiver', (engine) => {
  const world = useShops(engine, 1);

  it('leave one call free for replies', async () => {
    const { deskbell, shops } = world;
    const [{ id, receiver }] = shops as [Shop];
    receiver.answer = hang;
    await putAll(
      deskbell,
      range(0, 10).map((n) => ({ merchantId: id, recipient: phoneOf(n), mode: 'campaign' })),
    );
    await until('three campaigns are being sent', () => receiver.received.length === 3);
    await putAll(deskbell, [{ merchantId: id, recipient: phoneOf(50) }]);
    await until('the reply is being sent', () => receiver.received.length === 4, AT_ONCE_MAX_MS);
    assert.equal(receiver.received.at(-1)!.json.data.mode, 'reply');
  });
});
