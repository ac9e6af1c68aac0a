import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ASK, useAsks } from '../../support/asking.ts';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, BOREALIS, NOTIFICATIONS, onEachEngine, useDeskbell } from '../../support/server.ts';

const CONVERSATION = '/api/v1/conversation/';

onEachEngine('asking the merchant', (engine) => {
  const deskbell = useDeskbell(engine);
  const { call, ask, answer, customer, question } = useAsks(deskbell);
  /** The next transactions begin when there are this many, so that they really run at once. */
  const beginTogether = (count: number) => {
    const { database } = deskbell;
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

  it('raises what is not known, and gives reference and metadata back with the answer', async () => {
    const body = {
      question: question(),
      customer: customer(),
      reference: 'run-1',
      metadata: { thread: [1, 'é'] },
    };
    const asked = await ask(body);
    assert.equal(asked.status, 200);
    const { id, conversation_id, created_at, ...rest } = asked.json;
    assert.deepEqual(rest, {
      status: 'asked',
      notification_id: id,
      reference: 'run-1',
      metadata: { thread: [1, 'é'] },
      deliver: 'deskbell',
      expires_at: null,
      duplicate: false,
      taken_over: null,
      candidates: rest.candidates,
      waiting_message: null,
      opens_at: null,
    });
    assert.equal(asked.headers.get('location'), `${ASK}/${id}`);
    const token = await deskbell.signIn();
    const raised = (await deskbell.call('GET', `${NOTIFICATIONS}/${id}`, { token })).json;
    assert.deepEqual(
      [raised.status, raised.conversation_id, raised.context],
      ['requested', conversation_id, { question: body.question }],
    );
    assert.deepEqual((await call('GET', `${ASK}/${id}`)).json.status, 'waiting');

    assert.equal((await answer(id)).status, 200);
    await deskbell.allSent();
    const { json } = await call('GET', `${ASK}/${id}`);
    assert.deepEqual(
      [json.status, json.answer, json.answered_by, json.late, json.reference, json.metadata],
      ['answered', 'Yes, on Fridays.', 'Alma Reyes', false, 'run-1', { thread: [1, 'é'] }],
    );
    assert.equal(json.created_at, created_at);
    assert.ok(['sent', 'delivered', 'read'].includes(json.delivery.state), json.delivery.state);
  });

  it('answers from the knowledge base if it is sure, and raises nothing', async () => {
    const token = await deskbell.signIn();
    const count = async () => (await deskbell.call('GET', `${NOTIFICATIONS}/`, { token })).json.length;
    const [document] = (await deskbell.call('GET', '/api/v1/knowledge/', { token })).json;
    const before = await count();
    const known = await ask({ question: document.title, customer: customer(), reference: 'r' });
    assert.deepEqual(
      [known.json.status, known.json.document_id, known.json.answer, known.json.reference],
      ['known', document.id, document.body, 'r'],
    );
    assert.equal(known.json.candidates[0].confident, true);
    assert.equal(known.json.conversation_id, null);
    assert.equal(await count(), before);
    const one = customer();
    const { conversation_id } = (await ask({ question: question(), customer: one })).json;
    const again = await ask({ question: document.title, customer: one });
    assert.deepEqual([again.json.status, again.json.conversation_id], ['known', conversation_id]);
    const raised = await ask({ question: document.title, customer: customer(), if_known: 'raise' });
    assert.equal(raised.json.status, 'asked');
    assert.equal(raised.json.candidates[0].document_id, document.id);
    const found = await call('GET', `/api/v1/knowledge/find?q=${encodeURIComponent(document.title)}&limit=1`);
    assert.deepEqual(found.json.candidates.length, 1);
    const { question: title, ...candidate } = found.json.candidates[0];
    assert.deepEqual([title, candidate.document_id, candidate.score], [document.title, document.id, 1]);
  });

  it('a support reason raises a support request', async () => {
    const { json } = await ask({ support_reason: 'My parcel is lost.', customer: customer() });
    const token = await deskbell.signIn();
    const raised = (await deskbell.call('GET', `${NOTIFICATIONS}/${json.id}`, { token })).json;
    assert.equal(raised.notification_type, 'user_support_request');
    assert.deepEqual(raised.context, { support_request_reason: 'My parcel is lost.' });
    await answer(json.id, { agent_response_to_customer: 'We look for it.', resolution_notes: 'secret' });
    const answered = await call('GET', `${ASK}/${json.id}`);
    assert.equal(answered.json.answer, 'We look for it.');
    assert.equal(answered.text.includes('secret'), false);
  });

  it('the same question of the same customer is pending once, also if it comes many times at once', async () => {
    const body = { question: question(), customer: customer() };
    beginTogether(8);
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask(body)));
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
    assert.equal(new Set(replies.map(({ json }) => json.id)).size, 1);
    assert.equal(replies.filter(({ json }) => !json.duplicate).length, 1);
    const shouted = await ask({ ...body, question: `  ${body.question.toUpperCase()}!! ` });
    assert.deepEqual([shouted.json.duplicate, shouted.json.id], [true, replies[0]!.json.id]);
    const other = await ask({ ...body, customer: customer() });
    assert.equal(other.json.duplicate, false);
    await answer(shouted.json.id);
    const again = await ask({ ...body, if_known: 'raise' });
    assert.deepEqual([again.json.status, again.json.duplicate], ['asked', false]);
  });

  it('the same Idempotency-Key returns the same question, also when it has been answered', async () => {
    const body = { question: question(), customer: customer(), if_known: 'raise' };
    const headers = { 'idempotency-key': `ask-${engine}-1` };
    const first = await ask(body, { headers });
    await answer(first.json.id);
    const second = await ask(body, { headers });
    assert.deepEqual(
      [second.json.status, second.json.id, second.json.answer],
      ['answered', first.json.id, 'Yes, on Fridays.'],
    );
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    const changed = await ask({ ...body, question: 'Another?' }, { headers });
    assertError(changed, 422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key');
  });

  it('an assistant that speaks to the customer itself relays the answer, and Deskbell sends nothing', async () => {
    const body = { question: question(), customer: { reference: `chat-${engine}` }, deliver: 'assistant' };
    const { json } = await ask(body);
    assert.equal(json.deliver, 'assistant');
    await answer(json.id);
    await deskbell.allSent();
    const answered = (await call('GET', `${ASK}/${json.id}`)).json;
    assert.deepEqual([answered.answer, answered.delivery], ['Yes, on Fridays.', null]);
    const rows = await deskbell.database.all('select id from deliveries where notification_id = $1', [
      json.id,
    ]);
    assert.deepEqual(rows, []);
    const sent = await ask({ ...body, deliver: 'deskbell', question: question() });
    assertError(sent, 422, 'VALIDATION_ERROR', 'customer.phone');
  });

  it('the customer’s conversation is found by reference or number, and made if needed', async () => {
    const one = customer();
    const first = (await ask({ question: question(), customer: one })).json;
    const second = (await ask({ question: question(), customer: { phone: one.phone } })).json;
    assert.equal(second.conversation_id, first.conversation_id);
    const named = (await ask({ question: question(), customer: { ...one, reference: 'wa-7' } })).json;
    assert.notEqual(named.conversation_id, first.conversation_id);
    const byReference = (await ask({ question: question(), customer: { reference: 'wa-7' } })).json;
    assert.equal(byReference.conversation_id, named.conversation_id);
    const byId = (await ask({ question: question(), conversation_id: named.conversation_id })).json;
    assert.equal(byId.conversation_id, named.conversation_id);
  });

  it('a number that is stored without its country is the same number', async () => {
    const { database } = deskbell;
    const reference = `old-number-${engine}`;
    const given = (phone: string) => ({ question: question(), customer: { reference, phone } });
    const first = await ask(given('+34611880071'));
    await database.run(`update merchants set country = 'ES' where id = 1`);
    await database.run(`update conversations set customer_phone = '611 88 00 71' where reference = $1`, [
      reference,
    ]);
    const same = await ask(given('+34611880071'));
    assert.deepEqual([same.status, same.json.conversation_id], [200, first.json.conversation_id], same.text);
    assertError(await ask(given('+34611880072')), 422, 'VALIDATION_ERROR', 'customer.phone');
    await database.run('update merchants set country = null where id = 1');
  });

  it('an ask completes the conversation, and never changes the number or the name that it has', async () => {
    const reference = `wa-8-${engine}`;
    const conversationOf = async () => {
      const [{ customer_name, customer_phone }] = (
        await call('GET', `${CONVERSATION}?reference=${reference}`)
      ).json;
      return [customer_name, customer_phone];
    };
    const given = (more: object) => ({ question: question(), customer: { reference, ...more } });
    await ask({ ...given({}), deliver: 'assistant' });
    assert.deepEqual(await conversationOf(), ['Customer', '']);
    const { json: first } = await ask(given({ phone: '+34 611 88 00 01' }));
    assert.deepEqual(await conversationOf(), ['Customer', '+34611880001']);
    await ask(given({ name: 'Lucía' }));
    assert.deepEqual(await conversationOf(), ['Lucía', '+34611880001']);
    const same = await ask(given({ phone: '0034611880001', name: 'Eva' }));
    assert.equal(same.json.conversation_id, first.conversation_id);
    assert.deepEqual(await conversationOf(), ['Lucía', '+34611880001']);

    const token = await deskbell.signIn();
    const [document] = (await deskbell.call('GET', '/api/v1/knowledge/', { token })).json;
    const open = async () => (await call('GET', ASK)).text;
    const before = await open();
    const other = given({ phone: '+34611880002', name: 'Eva' });
    for (const [body, headers] of [
      [other, {}],
      [other, { 'idempotency-key': `other-number-${engine}` }],
      [{ ...other, deliver: 'assistant' }, {}],
      [{ ...other, question: document.title }, {}],
    ] as const) {
      const refused = await ask(body, { headers });
      assertError(refused, 422, 'VALIDATION_ERROR', 'customer.phone');
      assert.match(refused.json.detail, /POST \/api\/v1\/conversation\//);
      assert.doesNotMatch(refused.text, /611/);
    }
    assert.equal(await open(), before);
    assert.deepEqual(await conversationOf(), ['Lucía', '+34611880001']);
    await answer(first.id);
    const { delivery } = (await call('GET', `${ASK}/${first.id}`)).json;
    const { recipient } = (await deskbell.call('GET', `/api/v1/delivery/${delivery.id}`, { token })).json;
    assert.equal(recipient, '+34611880001');

    const body = { reference, customer_name: 'Eva', customer_phone: '+34611880002' };
    assert.equal((await call('POST', CONVERSATION, { body })).status, 200);
    assert.equal((await ask(other)).json.conversation_id, first.conversation_id);
  });

  it('of several numbers for a new customer that arrive at once, one is kept', async () => {
    const reference = `wa-9-${engine}`;
    await ask({ question: question(), customer: { reference }, deliver: 'assistant' });
    const phones = [1, 2, 3, 4].map((n) => `+3461199000${n}`);
    beginTogether(phones.length);
    const replies = await Promise.all(
      phones.map((phone) => ask({ question: question(), customer: { reference, phone } })),
    );
    const kept = phones.filter((_, index) => replies[index]!.status === 200);
    assert.equal(kept.length, 1);
    for (const reply of replies.filter(({ status }) => status !== 200))
      assertError(reply, 422, 'VALIDATION_ERROR', 'customer.phone');
    const [{ customer_phone }] = (await call('GET', `${CONVERSATION}?reference=${reference}`)).json;
    assert.equal(customer_phone, kept[0]);
  });

  it('a refused ask leaves no conversation, also with an Idempotency-Key', async () => {
    const reference = `wa-10-${engine}`;
    const headers = { 'idempotency-key': `no-phone-${engine}` };
    const refused = await ask({ question: question(), customer: { reference } }, { headers });
    assertError(refused, 422, 'VALIDATION_ERROR', 'customer.phone');
    assert.deepEqual((await call('GET', `${CONVERSATION}?reference=${reference}`)).json, []);
  });

  it('numbers in metadata are kept as JavaScript reads them', async () => {
    const sent = JSON.stringify({ question: question(), customer: customer(), metadata: 'M' });
    const metadata = '{"id":12345678901234567890,"large":1e400,"text":"12345678901234567890"}';
    const headers = { 'content-type': 'application/json' };
    const { json } = await call('POST', ASK, { body: sent.replace('"M"', metadata), headers });
    const kept = { id: 12345678901234567e3, large: null, text: '12345678901234567890' };
    assert.deepEqual(json.metadata, kept);
    assert.deepEqual((await call('GET', `${ASK}/${json.id}`)).json.metadata, kept);
  });

  it('bad input is refused by field, and raises nothing', async () => {
    const good = { question: 'Is it good?', customer: customer() };
    const bad: [field: string, body: object][] = [
      ['question', { customer: customer() }],
      ['question', { ...good, question: '   ' }],
      ['question', { ...good, question: 7 }],
      ['question', { ...good, question: 'x'.repeat(4097) }],
      ['support_reason', { ...good, support_reason: 'Both.' }],
      ['customer', { question: 'Where?' }],
      ['customer', { ...good, conversation_id: 1 }],
      ['customer.phone', { question: 'No phone?', customer: {} }],
      ['customer.phone', { question: 'Bad phone?', customer: { phone: 'abc' } }],
      ['reference', { ...good, reference: '' }],
      ['reference', { ...good, reference: 'a\nb' }],
      ['metadata', { ...good, metadata: [] }],
      ['metadata', { ...good, metadata: { text: 'x'.repeat(4096) } }],
      ['expires_in_seconds', { ...good, expires_in_seconds: 0 }],
      ['if_known', { ...good, if_known: 'maybe' }],
      ['wait_seconds', { ...good, wait_seconds: 46 }],
      ['deliver', { ...good, deliver: 'pigeon' }],
    ];
    for (const [field, body] of bad) {
      const reply = await ask(body);
      assert.deepEqual(
        [reply.status, reply.json.code, reply.json.field],
        [422, 'VALIDATION_ERROR', field],
        reply.text,
      );
    }
    assertError(
      await ask({ question: 'Where?', conversation_id: 999_999 }),
      404,
      'CONVERSATION_NOT_FOUND',
      'conversation_id',
    );
    const { id } = (await ask({ question: question(), customer: customer() })).json;
    for (const wait of ['46', '-1', 'x', '']) {
      assertError(await call('GET', `${ASK}/${id}?wait=${wait}`), 422, 'VALIDATION_ERROR', 'wait');
    }
    assertError(await call('GET', '/api/v1/knowledge/find'), 422, 'VALIDATION_ERROR', 'q');
  });

  it('another merchant’s asks do not exist', async () => {
    const { id, conversation_id } = (await ask({ question: question(), customer: customer() })).json;
    const token = await createKey(deskbell, undefined, BOREALIS);
    for (const method of ['GET', 'DELETE']) {
      const foreign = await call(method, `${ASK}/${id}`, { token });
      const absent = await call(method, `${ASK}/999999`, { token });
      assertError(foreign, 404, 'ASK_NOT_FOUND');
      assert.equal(foreign.text, absent.text);
      assert.equal(foreign.text, (await call(method, `${ASK}/abc`, { token })).text);
    }
    assert.deepEqual((await call('GET', ASK, { token })).json, { asks: [], next_cursor: null });
    const foreign = await ask({ question: 'Whose?', conversation_id }, { token });
    assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assert.equal((await call('GET', `${ASK}/${id}`)).json.status, 'waiting');
  });

  it('a key without the scope is refused', async () => {
    const token = await createKey(deskbell, ['notifications:read']);
    for (const [method, path] of [
      ['POST', ASK],
      ['GET', ASK],
      ['GET', `${ASK}/1`],
      ['DELETE', `${ASK}/1`],
    ] as const) {
      const refused = await call(method, path, { token, ...(method === 'POST' ? { body: {} } : {}) });
      assertError(refused, 403, 'INSUFFICIENT_SCOPE');
      assert.equal(refused.json.detail, 'This key lacks the scope: ask.');
    }
  });

  it('open asks are listed in pages, newest first', async () => {
    const asked = [];
    for (let n = 0; n < 3; n += 1)
      asked.push((await ask({ question: question(), customer: customer() })).json.id);
    const page = (await call('GET', `${ASK}?limit=2`)).json;
    assert.deepEqual(
      page.asks.map(({ id }: { id: number }) => id),
      [asked[2], asked[1]],
    );
    const next = (await call('GET', `${ASK}?limit=2&cursor=${page.next_cursor}`)).json;
    assert.equal(next.asks[0].id, asked[0]);
    const wrong = await call('GET', `${ASK}?cursor=zz`);
    assertError(wrong, 422, 'VALIDATION_ERROR', 'cursor');
    assert.equal(wrong.json.detail, 'cursor must come from the next_cursor of a page');
  });

  it('a wrong customer is refused, also if the answer is known', async () => {
    const [document] = (await deskbell.call('GET', '/api/v1/knowledge/', { token: await deskbell.signIn() }))
      .json;
    for (const given of [{}, { phone: '12' }]) {
      assertError(
        await ask({ question: document.title, customer: given }),
        422,
        'VALIDATION_ERROR',
        'customer.phone',
      );
    }
  });
});
