import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../src/log.ts';
import { cleanUp } from '../src/server.ts';
import {
  assertError,
  BOREALIS,
  type CallOptions,
  NOTIFICATIONS,
  onEachEngine,
  startSecondServer,
  useDeskbell,
} from './harness.ts';
import { createKey } from './machineKeys.ts';

const ASK = '/api/v1/ask';

onEachEngine('asking the merchant', (engine) => {
  const deskbell = useDeskbell(engine);
  let key: string | undefined;
  const keyOf = async () => (key ??= await createKey(deskbell));
  const call = async (method: string, path: string, options: CallOptions = {}) =>
    deskbell.call(method, path, { token: await keyOf(), ...options });
  const ask = (body: object, options: CallOptions = {}) => call('POST', ASK, { body, ...options });
  let customers = 0;
  /** A new customer, so that no other test's question is the same. */
  const customer = () => ({ phone: `+34611${String(660000 + ++customers)}`, name: 'Lucía' });
  const question = () => `Do you ship article ${++customers} to the moon?`;
  const answer = async (id: number, body: object = { answer: 'Yes, on Fridays.' }) =>
    deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token: await deskbell.signIn(), body });

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
      candidates: rest.candidates,
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
    const before = (await deskbell.call('GET', `${NOTIFICATIONS}/`, { token })).json.length;
    const [document] = (await deskbell.call('GET', '/api/v1/knowledge/', { token })).json;
    const known = await ask({ question: document.title, customer: customer(), reference: 'r' });
    assert.deepEqual(
      [known.json.status, known.json.document_id, known.json.answer, known.json.reference],
      ['known', document.id, document.body, 'r'],
    );
    assert.equal(known.json.candidates[0].confident, true);
    assert.equal((await deskbell.call('GET', `${NOTIFICATIONS}/`, { token })).json.length, before);
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

  it('a call that waits gets the answer as soon as there is one', async () => {
    const body = { question: question(), customer: customer(), wait_seconds: 30 };
    const waiting = ask(body);
    const token = await deskbell.signIn();
    let open: { id: number; question: string }[] = [];
    while (open.length === 0) {
      open = (await call('GET', ASK)).json.asks.filter(
        (one: { question: string }) => one.question === body.question,
      );
    }
    const polling = call('GET', `${ASK}/${open[0]!.id}?wait=30`);
    await deskbell.call('POST', `${NOTIFICATIONS}/${open[0]!.id}/answer`, {
      token,
      body: { answer: 'Now.' },
    });
    for (const { json } of await Promise.all([waiting, polling])) {
      assert.deepEqual([json.status, json.answer], ['answered', 'Now.']);
    }
    const late = await call('GET', `${ASK}/${open[0]!.id}?wait=30`);
    assert.equal(late.json.status, 'answered');
  });

  it('resolved, deleted and cancelled are different ends, and the outcome stays when the notification is gone', async () => {
    const token = await deskbell.signIn();
    const ids = await Promise.all(
      [1, 2, 3].map(
        async () => (await ask({ question: question(), customer: customer() })).json.id as number,
      ),
    );
    const waiting = ids.map((id) => call('GET', `${ASK}/${id}?wait=30`));
    await sleep(50);
    await answer(ids[0]!, { resolve_only: true });
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${ids[1]}`, { token });
    const cancelled = await call('DELETE', `${ASK}/${ids[2]}`);
    assert.deepEqual([cancelled.status, cancelled.json.status], [200, 'cancelled']);
    assert.equal((await call('DELETE', `${ASK}/${ids[2]}`)).status, 200);
    const ends = (await Promise.all(waiting)).map(({ json }) => json);
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['resolved', 'deleted', 'cancelled'],
    );
    assert.deepEqual([ends[0].resolved_by, typeof ends[1].deleted_at], ['Alma Reyes', 'string']);
    assertError(await call('DELETE', `${ASK}/${ids[0]}`), 409, 'CONFLICT');
    assertError(await call('DELETE', `${ASK}/${ids[1]}`), 409, 'CONFLICT');
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${ids[2]}`, { token });
    assert.equal((await call('GET', `${ASK}/${ids[2]}`)).json.status, 'cancelled');

    // The merchant sees why it is gone.
    const withdrawn = (await ask({ question: question(), customer: customer() })).json.id;
    await call('DELETE', `${ASK}/${withdrawn}`);
    const shown = (await deskbell.call('GET', `${NOTIFICATIONS}/${withdrawn}`, { token })).json;
    assert.deepEqual([shown.status, shown.answer, shown.delivery], ['answered', { withdrawn: true }, null]);
    const [event] = (await deskbell.call('GET', '/api/v1/audit?what=notification.cancelled', { token })).json;
    assert.deepEqual([event.who.name, event.about.notification_id], ['Test key', withdrawn]);
  });

  it('an ask expires at its time, stays in the inbox, and a late answer still reaches the customer', async () => {
    const { json } = await ask({ question: question(), customer: customer(), expires_in_seconds: 600 });
    const waiting = call('GET', `${ASK}/${json.id}?wait=30`);
    await sleep(50);
    deskbell.clock.advance(601);
    const expired = (await waiting).json;
    assert.deepEqual([expired.status, expired.expired_at], ['expired', json.expires_at]);
    const token = await deskbell.signIn();
    const pending = (await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token })).json;
    assert.ok(pending.some(({ id }: { id: number }) => id === json.id));

    await answer(json.id);
    await deskbell.allSent();
    const late = (await call('GET', `${ASK}/${json.id}`)).json;
    assert.deepEqual([late.status, late.late, late.delivery.state !== 'failed'], ['answered', true, true]);
  });

  it('asking again after the expiry waits again for the same notification', async () => {
    const body = { question: question(), customer: customer(), expires_in_seconds: 60 };
    const first = (await ask(body)).json;
    deskbell.clock.advance(61);
    assert.equal((await call('GET', `${ASK}/${first.id}`)).json.status, 'expired');
    const second = (await ask(body)).json;
    assert.deepEqual([second.status, second.id, second.duplicate], ['asked', first.id, true]);
    assert.ok(second.expires_at > first.expires_at);
    const token = await deskbell.signIn();
    const { updated_at } = (await deskbell.call('GET', `${NOTIFICATIONS}/${first.id}`, { token })).json;
    assert.ok(updated_at > first.expires_at, 'the inbox has to show that it waits again');
  });

  it('an assistant that speaks to the customer itself relays the answer, and Deskbell sends nothing', async () => {
    const body = { question: question(), customer: { reference: `chat-${customers}` }, deliver: 'assistant' };
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

  it('a wait ends when its key is revoked', async () => {
    const token = await deskbell.signIn();
    const created = (await deskbell.call('POST', '/api/v1/keys', { token, body: { name: 'Soon gone' } }))
      .json;
    const { id } = (await ask({ question: question(), customer: customer() })).json;
    const waiting = call('GET', `${ASK}/${id}?wait=40`, { token: created.key });
    await sleep(100);
    await deskbell.call('DELETE', `/api/v1/keys/${created.id}`, { token });
    assertError(await waiting, 401, 'INVALID_TOKEN');
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
  });

  it('an outcome is kept for 30 days, also if the notification is gone; what waits is kept longer', async () => {
    const { database, config, clock } = deskbell;
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const cleanUpAfter = (days: number) =>
      cleanUp(database, config, log, new Date(clock.now().getTime() + days * 24 * 60 * 60_000));
    const waiting = (await ask({ question: question(), customer: customer() })).json.id;
    const { id } = (await ask({ question: question(), customer: customer() })).json;
    await answer(id);
    const token = await deskbell.signIn();
    assert.equal((await deskbell.call('DELETE', `${NOTIFICATIONS}/${id}`, { token })).status, 200);

    await cleanUpAfter(29);
    const kept = (await call('GET', `${ASK}/${id}`)).json;
    assert.deepEqual([kept.status, kept.answer], ['answered', 'Yes, on Fridays.']);
    await cleanUpAfter(31);
    assertError(await call('GET', `${ASK}/${id}`), 404, 'ASK_NOT_FOUND');
    assert.equal((await call('GET', `${ASK}/${waiting}`)).json.status, 'waiting');
  });

  it('an expired one is kept until its notification ends: the assistant relays a very late answer', async () => {
    const { database, config, clock } = deskbell;
    const body = { question: question(), customer: { reference: `late-${customers}` }, deliver: 'assistant' };
    const { id } = (await ask({ ...body, expires_in_seconds: 60 })).json;
    clock.advance(61);
    assert.equal((await call('GET', `${ASK}/${id}`)).json.status, 'expired');
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    await cleanUp(database, config, log, new Date(clock.now().getTime() + 40 * 24 * 60 * 60_000));
    await answer(id);
    const late = (await call('GET', `${ASK}/${id}`)).json;
    assert.deepEqual([late.status, late.late, late.delivery], ['answered', true, null]);
    assert.deepEqual(await database.all('select id from deliveries where notification_id = $1', [id]), []);
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

onEachEngine('waiting for an answer', (engine) => {
  const deskbell = useDeskbell(engine);

  it('the merchant may answer at another server', {
    skip: engine === 'sqlite' && 'SQLite has one server',
  }, async () => {
    const key = await createKey(deskbell);
    const second = await startSecondServer(deskbell);
    try {
      const body = { question: 'At which server?', customer: { phone: '+34611660001' } };
      const { id } = (await deskbell.call('POST', ASK, { token: key, body })).json;
      const waiting = deskbell.call('GET', `${ASK}/${id}?wait=30`, { token: key });
      await sleep(50);
      const token = await second.signIn();
      await second.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body: { answer: 'At this one.' } });
      assert.equal((await waiting).json.answer, 'At this one.');
    } finally {
      await second.close();
    }
  });

  it('a server that stops answers those who wait', async () => {
    const key = await createKey(deskbell);
    const body = { question: 'Will you stop?', customer: { phone: '+34611660002' } };
    const { id } = (await deskbell.call('POST', ASK, { token: key, body })).json;
    const waiting = deskbell.call('GET', `${ASK}/${id}?wait=30`, { token: key });
    await sleep(50);
    await deskbell.close();
    assert.deepEqual([(await waiting).status, (await waiting).json.status], [200, 'waiting']);
  });
});
