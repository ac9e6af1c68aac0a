import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  assertError,
  BOREALIS,
  type Deskbell,
  NOTIFICATIONS,
  onEachEngine,
  raise,
  startDeskbell,
  useDeskbell,
} from '../../support/server.ts';

interface Shown {
  from_customer: boolean;
  text: string;
}

onEachEngine('the demo’s assistant', (engine) => {
  const deskbell = useDeskbell(engine);
  const write = (token: string, text: string, conversation = 1, { call }: Deskbell = deskbell) =>
    call('POST', `/api/v1/simulator/${conversation}`, { token, body: { text } });
  const phoneMessages = async (token: string, conversation = 1): Promise<Shown[]> =>
    (await deskbell.call('GET', `/api/v1/simulator/${conversation}`, { token })).json;
  const open = async (token: string) =>
    (await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token })).json;

  it('answers from the knowledge base, with the text of the document', async () => {
    const token = await deskbell.signIn();
    const before = (await open(token)).length;
    for (const [question, answer] of [
      ['How do I store the coffee beans?', /dark and dry cupboard/],
      ['What does shipping to Portugal cost?', /Shipping is free from 35/],
    ] as const) {
      assert.equal((await write(token, question)).status, 200);
      const [asked, answered] = (await phoneMessages(token)).slice(-2);
      assert.deepEqual([asked!.from_customer, asked!.text], [true, question]);
      assert.equal(answered!.from_customer, false);
      assert.match(answered!.text, answer);
    }
    assert.equal((await open(token)).length, before);
  });

  it('raises a notification if it does not know the answer, and says that it will ask a colleague', async () => {
    const token = await deskbell.signIn();
    const before = (await open(token)).length;
    await write(token, '  Do you deliver to the moon?  ', 2);
    const list = await open(token);
    assert.equal(list.length, before + 1);
    assert.equal(list[0].notification_type, 'user_question_request');
    assert.equal(list[0].conversation_id, 2);
    assert.deepEqual(list[0].context, {
      question: 'Do you deliver to the moon?',
      lead_phone: '+351912550102',
    });
    assert.match((await phoneMessages(token, 2)).at(-1)!.text, /colleague/);
  });

  it('says the shop’s own message while the customer waits, as long as there is one', async () => {
    const token = await deskbell.signIn();
    const setMessage = (waiting_message: string | null) =>
      deskbell.call('PATCH', '/api/v1/merchant', { token, body: { waiting_message } });
    const own = 'Un momento, pregunto a un compañero.';
    await setMessage(own);
    await write(token, 'Do you deliver to Mars?', 2);
    assert.equal((await phoneMessages(token, 2)).at(-1)!.text, own);
    const other = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    await write(other, 'Do you deliver to Mars?', 4);
    assert.match((await phoneMessages(other, 4)).at(-1)!.text, /colleague/);
    await setMessage(null);
    await write(token, 'Do you deliver to Venus?', 2);
    assert.match((await phoneMessages(token, 2)).at(-1)!.text, /colleague/);
  });

  it('asks if the question is a single word, instead of guessing', async () => {
    const token = await deskbell.signIn();
    await write(token, 'Beans?', 2);
    assert.match((await phoneMessages(token, 2)).at(-1)!.text, /colleague/);
  });

  it('knows the answer when the question is asked again', async () => {
    const token = await deskbell.signIn();
    const question = 'Is the decaf made with water or with solvents?';
    await write(token, question, 3);
    const [notification] = await open(token);
    const answer = 'With water alone, in Colombia.';
    await deskbell.call('POST', `${NOTIFICATIONS}/${notification.id}/answer`, { token, body: { answer } });
    await deskbell.allSent();
    assert.equal((await phoneMessages(token, 3)).at(-1)!.text, answer);
    await write(token, 'Is your decaf made with solvents, or with water?', 3);
    assert.equal((await phoneMessages(token, 3)).at(-1)!.text, answer);
    assert.ok(!(await open(token)).some(({ id }: { id: number }) => id > notification.id));
  });

  for (const [text, reply] of [
    ['I want to speak to a human', /colleague will write/],
    ['Quiero hablar con una persona, por favor', /compañero/],
    ['Posso falar com alguém?', /colega/],
    ['أريد التحدث مع شخص', /زملائنا/],
  ] as const) {
    it(`raises a support request for “${text}”`, async () => {
      const token = await deskbell.signIn();
      await write(token, text, 2);
      const [raised] = await open(token);
      assert.equal(raised.notification_type, 'user_support_request');
      assert.deepEqual(raised.context, { support_request_reason: text, lead_phone: '+351912550102' });
      assert.match((await phoneMessages(token, 2)).at(-1)!.text, reply);
    });
  }

  it('shows what it answered by itself, so that people can judge it', async () => {
    const token = await deskbell.signIn();
    const question = 'How do I store coffee beans?';
    await write(token, question);
    const { known } = (await deskbell.call('GET', '/api/v1/knowledge/known?limit=1', { token })).json;
    assert.equal(known[0].question, question);
    assert.equal(known[0].document.title, 'How to store coffee beans');
  });

  it('does not use another merchant’s documents', async () => {
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    await write(token, 'How do I store the coffee beans?', 4);
    assert.match((await phoneMessages(token, 4)).at(-1)!.text, /colleague/);
    assertError(await write(token, 'Hello?', 1), 404, 'NOT_FOUND');
  });

  for (const text of ['👍', 'a\0b \ud800', '<script>alert(1)</script>', 'x'.repeat(4096)]) {
    it(`does not understand ${JSON.stringify(text).slice(0, 30)}, and asks`, async () => {
      const token = await deskbell.signIn();
      assert.equal((await write(token, text)).status, 200);
      assert.equal((await open(token))[0].context.question, text);
      assert.match((await phoneMessages(token)).at(-1)!.text, /colleague/);
    });
  }

  it('does not reply to a blank message', async () => {
    const token = await deskbell.signIn();
    const before = (await open(token)).length;
    assert.equal((await write(token, '  \n ')).status, 200);
    assert.equal((await phoneMessages(token)).at(-1)!.from_customer, true);
    assert.equal((await open(token)).length, before);
  });

  it('is only available in the simulator', async () => {
    const other = await startDeskbell(engine, {
      CHANNEL: 'webhook',
      WEBHOOK_URL: 'https://hooks.example/deskbell',
      WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    });
    try {
      const token = await other.signIn();
      await raise(other, token);
      assertError(await write(token, 'Hello?', 1, other), 404, 'NOT_FOUND');
    } finally {
      await other.close();
    }
  });
});
