import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Merchant, newMerchant, useMerchant } from '../../support/merchants.ts';
import { onEachEngine } from '../../support/server.ts';

/** Only this file has these settings, so the clock of its server is its own. */
const SETTINGS = { CHANNEL_DAILY_LIMIT: '2' };

/** Asks, answers, and returns the notification when all messages are sent. */
async function answered(shop: Merchant, context: object, body: string | object) {
  const notification_type = 'question' in context ? 'user_question_request' : 'user_support_request';
  const id = await shop.raise({ notification_type, context });
  const { status, text, json } = await shop.answer(id, body);
  assert.equal(status, 200, text);
  await shop.deskbell.allSent();
  return { ...(await shop.get(`/notification/${id}`)).json, message: json.message as string };
}

onEachEngine('the delivery of an answer', (engine) => {
  const shop = useMerchant(engine, SETTINGS);
  const newest = async () => (await shop.get('/delivery/?limit=1')).json[0];
  const testPhone = async () => (await shop.get(`/simulator/${shop.conversationId}`)).text;

  it('goes to the number of the conversation, and the notification shows it', async () => {
    const question = 'Do you roast on Mondays?';
    const { delivery } = await answered(shop, { question }, 'Every Monday at six.');
    assert.equal(delivery.state, 'delivered');
    const [{ text, from_customer }] = JSON.parse(await testPhone());
    assert.deepEqual([text, from_customer], ['Every Monday at six.', false]);
    const { state, timeline, attempts } = (await shop.get(`/delivery/${delivery.id}`)).json;
    const states = timeline.map((step: { state: string }) => step.state);
    assert.deepEqual([state, states, attempts], ['read', ['queued', 'delivered', 'read'], 1]);
  });

  it('sends a support reply but not its notes', async () => {
    await answered(
      shop,
      { support_request_reason: 'Cup broken' },
      { agent_response_to_customer: 'A new cup is on its way.', resolution_notes: 'do not tell: discount' },
    );
    assert.equal((await newest()).content, 'A new cup is on its way.');
    assert.doesNotMatch(await testPhone(), /discount/);
  });

  it('continues even if the notification is deleted right after the answer', async () => {
    const id = await shop.raise('Gone?');
    assert.equal((await shop.answer(id, 'Still here.')).status, 200);
    assert.equal((await shop.delete(`/notification/${id}`)).status, 200);
    await shop.deskbell.allSent();
    assert.match(await testPhone(), /Still here\./);
  });

  it('is not found by another merchant, like its test phone', async () => {
    const { delivery } = await answered(shop, { question: 'Do you grind it?' }, 'As fine as you like.');
    const other = await newMerchant(shop.deskbell);
    assert.deepEqual((await other.get('/delivery/')).json, []);
    for (const [call, path, id] of [
      [other.get, '/delivery/ID', delivery.id],
      [other.post, '/delivery/ID/retry', delivery.id],
      [other.get, '/simulator/ID', shop.conversationId],
    ] as const) {
      const [foreign, absent] = [
        await call(path.replace('ID', id)),
        await call(path.replace('ID', '999999')),
      ];
      assert.deepEqual([foreign.status, foreign.text], [404, absent.text]);
    }
  });
});

onEachEngine('the daily messaging limit', (engine) => {
  const shop = useMerchant(engine, SETTINGS);
  const phone = (n: number) => `+3460000000${n}`;
  const answerTo = async (n: number, only_send_campaign: boolean) => {
    const context = { question: `Q${n}?`, lead_phone: phone(n) };
    return (await answered(shop, context, { answer: `A${n}`, only_send_campaign })).message;
  };

  it('makes campaigns wait until it allows them, says until when, and counts no reply and no customer twice', async () => {
    const answers = 'Notification answered.';
    for (const n of [1, 2, 1]) assert.equal(await answerTo(n, true), answers);
    assert.match(await answerTo(3, true), /limit is reached: the message waits until \d{4}-\d\d-\d\dT/);
    for (const n of [3, 4, 5]) assert.equal(await answerTo(n, false), answers);
    const { limit, used, waiting } = (await shop.get('/limits')).json;
    assert.deepEqual([limit, used, waiting, (await shop.get('/channel')).json.used], [2, 2, 1, 2]);
    const waitingFor = async () =>
      (await shop.get('/delivery/?state=waiting')).json.map((one: { recipient: string }) => one.recipient);
    assert.deepEqual(await waitingFor(), [phone(3)]);
    await shop.deskbell.clock.advance(24 * 3600 + 1);
    await shop.deskbell.allSent();
    assert.deepEqual(await waitingFor(), []);
  });
});
