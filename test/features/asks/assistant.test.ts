import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Merchant, newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, startDeskbell } from '../../support/server.ts';

const STORE = { title: 'How to store coffee beans', text: 'In a dark and dry cupboard.' };
const SHIPPING = { title: 'What does shipping to Portugal cost?', text: 'Shipping is free from 35 euros.' };
const UNCLEAR = ['👍', 'a\0b \ud800', '<script>alert(1)</script>', 'x'.repeat(4096), 'Beans?'];

describe('the demo’s assistant', () => {
  const shop = useMerchant('sqlite');
  const other = useMerchant('sqlite');
  before(async () => {
    for (const lesson of [STORE, SHIPPING])
      await shop.answer(await shop.raise(), { answer: lesson.text, teach: { do: 'new', ...lesson } });
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
    for (const [question, { title, text }] of [
      ['How do I store the coffee beans?', STORE],
      ['What does shipping to Portugal cost?', SHIPPING],
    ] as const) {
      assert.deepEqual(await write(question), [question, text]);
      const { known } = (await shop.get('/knowledge/known?limit=1')).json;
      assert.deepEqual([known[0].question, known[0].document.title], [question, title]);
    }
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
    assert.match((await write('Do you deliver to Venus?'))[1]!, /colleague/);
  });

  it('knows the answer when the question is asked again', async () => {
    await write('Is the decaf made with water or with solvents?');
    const [notification] = await open();
    const answer = 'With water alone, in Colombia.';
    await shop.answer(notification.id, answer);
    await shop.deskbell.allSent();
    assert.equal((await write('Is your decaf made with solvents, or with water?'))[1], answer);
    assert.ok(!(await open()).some(({ id }: { id: number }) => id > notification.id));
  });

  for (const [text, reply] of [
    ['I want to speak to a human', /colleague will write/],
    ['Quiero hablar con una persona, por favor', /compañero/],
    ['Posso falar com alguém?', /colega/],
    ['أريد التحدث مع شخص', /زملائنا/],
  ] as const)
    it(`raises a support request for “${text}”`, async () => {
      assert.match((await write(text))[1]!, reply);
      const [{ notification_type, context }] = await open();
      assert.equal(notification_type, 'user_support_request');
      assert.equal(context.support_request_reason, text);
    });

  it('does not use another merchant’s documents', async () => {
    assert.match(
      (await write('How do I store the coffee beans?', other.conversationId, other))[1]!,
      /colleague/,
    );
    assertError(await other.post(`/simulator/${shop.conversationId}`, { text: 'Hello?' }), 404, 'NOT_FOUND');
  });

  it('asks a colleague what it does not understand, instead of guessing, and ignores a blank message', async () => {
    for (const text of UNCLEAR) {
      assert.match((await write(text))[1]!, /colleague/);
      assert.equal((await open())[0].context.question, text);
    }
    const before = await open();
    assert.equal((await write('  \n ')).length, 1);
    assert.deepEqual(await open(), before);
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
