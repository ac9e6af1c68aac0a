import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Merchant, newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, startDeskbell } from '../../support/server.ts';

const STORE = { title: 'How to store coffee beans', text: 'In a dark and dry cupboard.' };

describe('the demo’s assistant', () => {
  const shop = useMerchant('sqlite');
  const other = useMerchant('sqlite');
  before(async () => {
    await shop.answer(await shop.raise(), { answer: STORE.text, teach: { do: 'new', ...STORE } });
    await shop.deskbell.allSent();
  });
  const open = async () => (await shop.get('/notification/?status=requested')).json;
  /** What the phone shows after the customer has written. */
  async function write(text: string, id = shop.conversationId, by: Merchant = shop): Promise<string[]> {
    const before = (await by.get(`/simulator/${id}`)).json.length;
    const reply = await by.post(`/simulator/${id}`, { text });
    assert.equal(reply.status, 200, reply.text);
    return (await by.get(`/simulator/${id}`)).json.slice(before).map((one: { text: string }) => one.text);
  }

  it('answers from the knowledge base, with the text of the document, and shows it to people', async () => {
    const question = 'How do I store the coffee beans?';
    assert.deepEqual(await write(question), [question, STORE.text]);
    const { known } = (await shop.get('/knowledge/known?limit=1')).json;
    assert.deepEqual([known[0].question, known[0].document.title], [question, STORE.title]);
    assert.deepEqual(await open(), []);
  });

  it('raises a notification if it does not know the answer, and says that it will ask a colleague', async () => {
    const id = await shop.converse({ customer_phone: '+351912550102' });
    const [, said] = await write('  Do you deliver to the moon?  ', id);
    assert.match(said!, /colleague/);
    const [raised] = await open();
    assert.deepEqual([raised.notification_type, raised.conversation_id], ['user_question_request', id]);
    assert.deepEqual(raised.context, {
      question: 'Do you deliver to the moon?',
      lead_phone: '+351912550102',
    });
  });

  it('says the shop’s own message while the customer waits, as long as there is one', async () => {
    const own = 'Un momento, pregunto a un compañero.';
    await shop.patch('/merchant', { waiting_message: own });
    assert.equal((await write('Do you deliver to Mars?'))[1], own);
    assert.match((await write('Do you deliver to Mars?', other.conversationId, other))[1]!, /colleague/);
    await shop.patch('/merchant', { waiting_message: null });
  });

  it('raises a support request for whoever wants to speak to a person, in the language of the customer', async () => {
    for (const [text, reply] of [
      ['I want to speak to a human', /colleague will write/],
      ['Quiero hablar con una persona, por favor', /compañero/],
      ['Posso falar com alguém?', /colega/],
      ['أريد التحدث مع شخص', /زملائنا/],
    ] as const) {
      assert.match((await write(text))[1]!, reply);
      const [{ notification_type, context }] = await open();
      assert.equal(notification_type, 'user_support_request');
      assert.equal(context.support_request_reason, text);
    }
  });

  it('does not use another merchant’s documents', async () => {
    assert.match(
      (await write('How do I store the coffee beans?', other.conversationId, other))[1]!,
      /colleague/,
    );
    assertError(await other.post(`/simulator/${shop.conversationId}`, { text: 'Hello?' }), 404, 'NOT_FOUND');
  });

  it('is only available in the simulator', async () => {
    const deskbell = await startDeskbell('sqlite', {
      ...{ CHANNEL: 'webhook', WEBHOOK_URL: 'https://hooks.example/deskbell' },
      WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    });
    try {
      const { post, conversationId } = await newMerchant(deskbell);
      assertError(await post(`/simulator/${conversationId}`, { text: 'Hello?' }), 404, 'NOT_FOUND');
    } finally {
      await deskbell.close();
    }
  });
});
