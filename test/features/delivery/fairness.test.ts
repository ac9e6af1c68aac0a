import assert from 'node:assert/strict';
import { afterEach, beforeEach, it } from 'node:test';
import type { Receiver } from '../../support/receiver.ts';
import { onEachEngine, useDeskbell } from '../../support/server.ts';
import { accept, openShop, phoneOf, putAll, range, type Shop, until } from '../../support/shops.ts';

onEachEngine('of merchants that send at the same time', (engine) => {
  const deskbell = useDeskbell(engine);
  const open: Shop[] = [];
  const openShops = async (count: number): Promise<Shop[]> => {
    for (let n = 0; n < count; n += 1) open.push(await openShop(deskbell));
    return open;
  };
  // Nothing is left to send: the server would wait for the hanging calls.
  afterEach(async () => {
    await deskbell.database.run(`update deliveries set state = 'cancelled' where state <> 'sent'`);
    for (const { receiver } of open.splice(0)) await receiver.close();
    await deskbell.allSent();
  });
  /** Queues this many messages, to as many customers. */
  const put = ({ id }: Shop, count: number, change: { mode?: 'campaign' } = {}) =>
    putAll(
      deskbell,
      range(0, count).map((n) => ({ merchantId: id, recipient: phoneOf(n), ...change })),
    );
  /** How many calls to receivers that hang have ended. */
  let ended = 0;
  const hang: Receiver['answer'] = (response) =>
    void response.once('close', () => {
      ended += 1;
    });
  beforeEach(() => {
    ended = 0;
  });
  /** Before any of the hanging calls ends. */
  const isSentAtOnce = async ({ id, receiver }: Shop) => {
    const before = receiver.received.length;
    await putAll(deskbell, [{ merchantId: id, recipient: phoneOf(999) }]);
    await until('the message arrives', () => receiver.received.length > before);
    assert.equal(ended, 0);
  };

  it('one whose receiver hangs does not delay another, with 40 messages queued', async () => {
    const [hanging, other] = (await openShops(2)) as [Shop, Shop];
    hanging.receiver.answer = hang;
    await put(hanging, 40);
    await until('its channel is full', () => hanging.receiver.received.length === 4);
    await isSentAtOnce(other);
    assert.equal(hanging.receiver.received.length, 4, 'exactly four calls at once');
  });

  it('five whose receivers hang at once do not delay a sixth', async () => {
    const [other, ...hanging] = (await openShops(6)) as [Shop, ...Shop[]];
    for (const shop of hanging) {
      shop.receiver.answer = hang;
      await put(shop, 10);
    }
    const calls = () => hanging.map(({ receiver }) => receiver.received.length);
    await until('all slots are taken', () => calls().reduce((sum, count) => sum + count) >= 16);
    await isSentAtOnce(other);
    await until('each of the five has its four calls', () => calls().every((count) => count >= 4));
  });

  it('nobody waits for another’s backlog: they take turns', async () => {
    const shops = await openShops(3);
    const sent = shops.map(() => 0);
    let lead = 0;
    for (const [n, { receiver }] of shops.entries()) {
      receiver.answer = (response, call) => {
        sent[n]! += 1;
        lead = Math.max(lead, Math.max(...sent) - Math.min(...sent));
        accept(response, call);
      };
    }
    await putAll(
      deskbell,
      shops.flatMap(({ id }) => range(0, 30).map((n) => ({ merchantId: id, recipient: phoneOf(n) }))),
    );
    await deskbell.allSent();
    assert.deepEqual(sent, [30, 30, 30]);
    assert.ok(lead <= 15, `one was ${lead} messages ahead of another`);
  });

  it('campaigns to a slow receiver leave one call free for replies', async () => {
    const [shop] = (await openShops(1)) as [Shop];
    shop.receiver.answer = hang;
    await put(shop, 10, { mode: 'campaign' });
    await until('three campaigns are being sent', () => shop.receiver.received.length === 3);
    await isSentAtOnce(shop);
    assert.equal(shop.receiver.received.at(-1)!.json.data.mode, 'reply');
  });
});
