import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useAsksOf } from '../../support/asking.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

onEachEngine('asking the merchant', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const { asKey, ask, get, customer, question, know } = useAsksOf(shop);
  /** The next transactions begin when there are this many, so that they really run at once. */
  const beginTogether = (count: number) => {
    const { database } = shop.deskbell;
    const { transaction } = database;
    const all = Promise.withResolvers<void>();
    let waiting = 0;
    database.transaction = async (work) => {
      waiting += 1;
      if (waiting === count) {
        database.transaction = transaction;
        all.resolve();
      }
      await all.promise;
      return transaction(work);
    };
  };
  const onPhoneRefused = (reply: Awaited<ReturnType<typeof ask>>) =>
    assertError(reply, 422, 'VALIDATION_ERROR', 'customer.phone');

  it('raises what is not known, and gives reference and metadata back with the answer', async () => {
    const given = { reference: 'run-1', metadata: { thread: [1, 'é'] } };
    const body = { question: question(), customer: customer(), ...given };
    const asked = await ask(body);
    const { id, conversation_id, created_at, candidates, ...rest } = asked.json;
    assert.deepEqual(rest, {
      ...{ status: 'asked', notification_id: id, ...given, deliver: 'deskbell', expires_at: null },
      ...{ duplicate: false, taken_over: null, waiting_message: null, opens_at: null },
    });
    assert.equal(asked.headers.get('location'), `/api/v1/ask/${id}`);
    const raised = (await shop.get(`/notification/${id}`)).json;
    assert.deepEqual(
      [raised.status, raised.conversation_id, raised.context],
      ['requested', conversation_id, { question: body.question }],
    );
    assert.equal((await get(id)).json.status, 'waiting');

    assert.equal((await shop.answer(id, 'Yes, on Fridays.')).status, 200);
    await shop.deskbell.allSent();
    const { json } = await get(id);
    assert.deepEqual(
      [json.status, json.answer, json.answered_by, json.late, json.reference, json.metadata],
      ['answered', 'Yes, on Fridays.', 'Olga Owner', false, 'run-1', { thread: [1, 'é'] }],
    );
    assert.deepEqual([json.created_at, json.delivery.state], [created_at, 'delivered']);
  });

  it('answers from the knowledge base if it is sure, and raises nothing', async () => {
    const document = await know();
    const count = async () => (await shop.get('/notification/')).json.length;
    const one = customer();
    const { conversation_id } = (await ask({ question: question(), customer: one })).json;
    const before = await count();
    const known = (await ask({ question: document.title, customer: one, reference: 'r' })).json;
    assert.deepEqual(
      [known.status, known.document_id, known.answer, known.reference, known.conversation_id],
      ['known', document.id, document.body, 'r', conversation_id],
    );
    assert.equal(known.candidates[0].confident, true);
    assert.equal(await count(), before);
    // A wrong customer is refused all the same.
    onPhoneRefused(await ask({ question: document.title, customer: { phone: '12' } }));
    const raised = await ask({ question: document.title, customer: customer(), if_known: 'raise' });
    assert.deepEqual([raised.json.status, raised.json.candidates[0].document_id], ['asked', document.id]);
  });

  it('a support reason raises a support request', async () => {
    const { id } = (await ask({ support_reason: 'My parcel is lost.', customer: customer() })).json;
    const raised = (await shop.get(`/notification/${id}`)).json;
    assert.equal(raised.notification_type, 'user_support_request');
    assert.deepEqual(raised.context, { support_request_reason: 'My parcel is lost.' });
    await shop.answer(id, { agent_response_to_customer: 'We look for it.', resolution_notes: 'secret' });
    const answered = await get(id);
    assert.equal(answered.json.answer, 'We look for it.');
    assert.doesNotMatch(answered.text, /secret/);
  });

  it('the same question of the same customer is pending once, also if it comes many times at once', async () => {
    const body = { question: question(), customer: customer() };
    beginTogether(8);
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask(body)));
    for (const { status, text } of replies) assert.equal(status, 200, text);
    assert.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
    assert.equal(replies.filter(({ json }) => !json.duplicate).length, 1);
    const shouted = await ask({ ...body, question: `  ${body.question.toUpperCase()}!! ` });
    assert.deepEqual([shouted.json.duplicate, shouted.json.id], [true, replies[0]!.json.id]);
    assert.equal((await ask({ ...body, customer: customer() })).json.duplicate, false);
    await shop.answer(shouted.json.id);
    const again = await ask({ ...body, if_known: 'raise' });
    assert.deepEqual([again.json.status, again.json.duplicate], ['asked', false]);
  });

  it('the same Idempotency-Key returns the same question, also when it has been answered', async () => {
    const body = { question: question(), customer: customer(), if_known: 'raise' };
    const headers = { 'idempotency-key': 'ask-1' };
    const { id } = (await ask(body, { headers })).json;
    await shop.answer(id, 'Yes, on Fridays.');
    const second = await ask(body, { headers });
    assert.deepEqual(
      [second.json.status, second.json.id, second.json.answer],
      ['answered', id, 'Yes, on Fridays.'],
    );
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    const changed = await ask({ ...body, question: 'Another?' }, { headers });
    assertError(changed, 422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key');
  });

  it('an assistant that speaks to the customer itself relays the answer, and Deskbell sends nothing', async () => {
    const body = { question: question(), customer: { reference: 'chat' }, deliver: 'assistant' };
    const { json } = await ask(body);
    assert.equal(json.deliver, 'assistant');
    await shop.answer(json.id, 'Yes, on Fridays.');
    await shop.deskbell.allSent();
    const answered = (await get(json.id)).json;
    assert.deepEqual([answered.answer, answered.delivery], ['Yes, on Fridays.', null]);
    const sent = 'select id from deliveries where notification_id = $1';
    assert.deepEqual(await shop.deskbell.database.all(sent, [json.id]), []);
    // A refused one leaves no conversation.
    onPhoneRefused(await ask({ question: question(), customer: { reference: 'refused' } }));
    assert.deepEqual((await asKey('/conversation/?reference=refused')).json, []);
  });

  it('a customer without a number cannot be asked for by the conversation either, if Deskbell sends the answer', async () => {
    const { json } = await ask({
      question: question(),
      customer: { reference: 'silent' },
      deliver: 'assistant',
    });
    const before = (await asKey('/ask')).text;
    onPhoneRefused(await ask({ question: question(), conversation_id: json.conversation_id }));
    assert.equal((await asKey('/ask')).text, before);
  });

  it('is not answered by one of two documents that both fit: they may say different things', async () => {
    const { title } = await know();
    assert.ok((await shop.post('/knowledge', { title, body: 'We do not repair it.' })).status < 300);
    const { json } = await ask({ question: title, customer: customer() });
    assert.equal(json.status, 'asked');
    assert.deepEqual(
      json.candidates.slice(0, 2).map(({ confident }: { confident: boolean }) => confident),
      [false, false],
    );
  });

  it('the customer’s conversation is found by reference or number, and made if needed', async () => {
    const conversationOf = async (by: object): Promise<number> =>
      (await ask({ question: question(), ...by })).json.conversation_id;
    const one = customer();
    const first = await conversationOf({ customer: one });
    assert.equal(await conversationOf({ customer: { phone: one.phone } }), first);
    const named = await conversationOf({ customer: { ...one, reference: 'wa-7' } });
    assert.notEqual(named, first);
    assert.equal(await conversationOf({ customer: { reference: 'wa-7' } }), named);
    assert.equal(await conversationOf({ conversation_id: named }), named);
  });

  it('an ask completes the conversation, and never changes the number or the name that it has', async () => {
    const reference = 'wa-8';
    const assertKnown = async (name: string, phone: string) => {
      const [{ customer_name, customer_phone }] = (await asKey(`/conversation/?reference=${reference}`)).json;
      assert.deepEqual([customer_name, customer_phone], [name, phone]);
    };
    const given = (more: object) => ({ question: question(), customer: { reference, ...more } });
    await ask({ ...given({}), deliver: 'assistant' });
    await assertKnown('Customer', '');
    const { json: first } = await ask(given({ phone: '+34 611 88 00 01' }));
    await assertKnown('Customer', '+34611880001');
    await ask(given({ name: 'Lucía' }));
    await assertKnown('Lucía', '+34611880001');
    const same = await ask(given({ phone: '0034611880001', name: 'Eva' }));
    assert.equal(same.json.conversation_id, first.conversation_id);
    await assertKnown('Lucía', '+34611880001');

    const { title } = await know();
    const before = (await asKey('/ask')).text;
    const changed = given({ phone: '+34611880002', name: 'Eva' });
    for (const body of [changed, { ...changed, deliver: 'assistant' }, { ...changed, question: title }]) {
      const refused = await ask(body);
      onPhoneRefused(refused);
      assert.doesNotMatch(refused.text, /611/);
    }
    assert.equal((await asKey('/ask')).text, before);
    await assertKnown('Lucía', '+34611880001');
    await shop.answer(first.id);
    const { delivery } = (await get(first.id)).json;
    assert.equal((await shop.get(`/delivery/${delivery.id}`)).json.recipient, '+34611880001');

    await shop.converse({ reference, customer_name: 'Eva', customer_phone: '+34611880002' });
    assert.equal((await ask(changed)).json.conversation_id, first.conversation_id);
  });

  it('another merchant’s asks do not exist', async () => {
    const { id, conversation_id } = (await ask({ question: question(), customer: customer() })).json;
    for (const foreign of [await other.get(`/ask/${id}`), await other.delete(`/ask/${id}`)])
      assertError(foreign, 404, 'ASK_NOT_FOUND');
    assert.deepEqual((await other.get('/ask')).json, { asks: [], next_cursor: null });
    const foreign = await other.post('/ask', { question: 'Whose?', conversation_id });
    assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assert.equal((await get(id)).json.status, 'waiting');
  });

  it('open asks are listed in pages, newest first', async () => {
    const asked: number[] = [];
    for (let n = 0; n < 3; n += 1)
      asked.push((await ask({ question: question(), customer: customer() })).json.id);
    const page = (await asKey('/ask?limit=2')).json;
    const ids = page.asks.map(({ id }: { id: number }) => id);
    assert.deepEqual(ids, [asked[2], asked[1]]);
    const next = (await asKey(`/ask?limit=2&cursor=${page.next_cursor}`)).json;
    assert.equal(next.asks[0].id, asked[0]);
    assertError(await asKey('/ask?cursor=zz'), 422, 'VALIDATION_ERROR', 'cursor');
  });
});

describe('a request to ask', () => {
  const shop = useMerchant('sqlite');
  const { ask, asKey, customer } = useAsksOf(shop);

  it('is refused by field, and raises nothing', async () => {
    const good = { question: 'Is it good?', customer: customer() };
    const bad: [field: string, body: object][] = [
      ['question', { ...good, question: '   ' }],
      ['question', { ...good, question: 'x'.repeat(4097) }],
      ['support_reason', { ...good, support_reason: 'Both.' }],
      ['customer', { question: 'Where?' }],
      ['customer', { ...good, conversation_id: 1 }],
      ['customer.phone', { question: 'No phone?', customer: {} }],
      ['reference', { ...good, reference: 'a\nb' }],
      ['metadata', { ...good, metadata: { text: 'x'.repeat(4096) } }],
      ['expires_in_seconds', { ...good, expires_in_seconds: 0 }],
      ['if_known', { ...good, if_known: 'maybe' }],
      ['wait_seconds', { ...good, wait_seconds: 46 }],
      ['deliver', { ...good, deliver: 'pigeon' }],
    ];
    const before = (await asKey('/ask')).text;
    for (const [field, body] of bad) assertError(await ask(body), 422, 'VALIDATION_ERROR', field);
    assert.equal((await asKey('/ask')).text, before);
    const nowhere = await ask({ question: 'Where?', conversation_id: 999_999 });
    assertError(nowhere, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    for (const wait of ['46', 'x'])
      assertError(await asKey(`/ask/1?wait=${wait}`), 422, 'VALIDATION_ERROR', 'wait');
    assertError(await asKey('/knowledge/find'), 422, 'VALIDATION_ERROR', 'q');
  });
});
