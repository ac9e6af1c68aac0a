import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { filesWith, tablesWith } from '../support/canaries.ts';
import { CANARIES, callsOf, erased, FILE_CANARIES, NAME, PHONE, WORDS } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { assertError, onEachEngine } from '../support/server.ts';
import { type PushService, startPushService } from '../support/stand-ins/push.ts';
import { useWhatsApp } from '../support/whatsapp.ts';

const DAY_SECONDS = 24 * 60 * 60;
const TEST_MAX_SECONDS = 10 * 60;

onEachEngine('a customer who is erased', (engine: Engine) => {
  const whatsapp = useWhatsApp(engine, { PUSH_ALLOW_PRIVATE: 'true', ACCESS_TOKEN_TTL_SECONDS: '86400' });
  let receiver: Receiver;
  let push: PushService;
  before(async () => {
    [receiver, push] = [await startReceiver(), await startPushService()];
  });
  after(() => Promise.all([receiver?.close(), push?.close()]));

  it('is in no table, index or file any more, by whatever way the person came in', async () => {
    const { deskbell, meta } = whatsapp;
    const { clock } = deskbell;
    // The figures are of days and weeks, which must not end during the test.
    const left = DAY_SECONDS - ((clock.now().getTime() / 1000) % DAY_SECONDS);
    if (left < TEST_MAX_SECONDS) clock.jump(left);
    const { ok, raise, conversation } = callsOf(deskbell);
    const token = await createKey(deskbell);
    await ok('POST', '/webhooks', { url: receiver.url, include_content: true });
    await ok('PUT', '/alerts/subscriptions', push.browser());

    const given = { reference: 'zqx-crm-1', customer_name: NAME, customer_phone: '699 12 39 87' };
    const first = await ok(
      'POST',
      '/conversation/',
      { ...given, customer_phone: PHONE },
      {
        'Idempotency-Key': 'order-1',
      },
    );
    const id = first.json.id as number;
    const other = await conversation('zqx-crm-2');
    let asks = 0;
    const ask = (question: string, more: object = {}) =>
      deskbell.call('POST', '/api/v1/ask', {
        token,
        body: { question, conversation_id: id, ...more },
        headers: { 'Idempotency-Key': `ask-${++asks}` },
      });
    await meta.customerWrites(PHONE, { text: { body: 'zqxinbound hello' } });
    await whatsapp.quiet();
    const asked = await ask('Do you ship zqxask boxes to Vigo?', {
      reference: 'zqxrun',
      metadata: { note: 'zqxmeta' },
    });
    assert.equal(asked.json.status, 'asked', asked.text);
    const answerTo = (notificationId: number, body: object) =>
      ok('POST', `/notification/${notificationId}/answer`, body, {
        'Idempotency-Key': `a-${notificationId}`,
      });
    await answerTo(asked.json.id, { answer: 'Dear Zqxella, yes. We call +34 699 123 987 first.' });
    assert.equal((await ask('Do you ship zqxask boxes to Vigo?')).json.status, 'known');
    const raised = await raise(id, { question: 'zqxraise: call (699) 12-39-87', lead_phone: '699.12.39.87' });
    await answerTo(raised, {
      answer: 'zqxanswer',
      teach: { do: 'new', title: 'How we call', text: 'Ask Zqxella first, then 0034 699123987.' },
    });
    const support = await raise(other, { support_request_reason: 'zqxsupport' }, 'user_support_request');
    await answerTo(support, { agent_response_to_customer: 'zqxreply', resolution_notes: 'zqxnotes' });
    const wrong = await raise(id, { question: 'zqxwrong?', lead_phone: 'zqxphone 12' });
    await answerTo(wrong, { answer: 'We never do.' });
    meta.next({ failsWith: 131026 });
    await answerTo(await raise(other, { question: 'zqxfails?' }), { answer: 'no', only_send_campaign: true });
    await answerTo(await raise(other, { question: 'zqxlater?' }), {
      answer: 'Soon.',
      only_send_campaign: true,
    });
    await whatsapp.quiet();
    const held = await raise(id, { question: 'zqxheld?' });
    await answerTo(held, { answer: 'zqxheldanswer', undo_seconds: 60 });
    const open = await raise(id, { question: 'zqxopen?', more: { deep: 'zqxdeep' } });
    await ok('POST', `/notification/${open}/notes`, { text: 'zqxnote: +34699123987' });
    const gone = await raise(id, { question: 'zqxgone?' });
    await ok('DELETE', `/notification/${gone}`);
    await ok('POST', `/conversation/${id}/messages`, {
      from: 'assistant',
      text: 'zqxsaid',
      message_id: 'zqxm',
    });
    await ok('PUT', `/conversation/${id}/takeover`);
    await ok('POST', `/conversation/${id}/send`, { text: 'zqxdirect' }, { 'Idempotency-Key': 'send-1' });
    await ok('POST', `/conversation/${other}/send`, { text: 'zqxundone', undo_seconds: 60 });
    await ok('POST', '/saved-replies/', { title: `For ${NAME}`, text: 'Call 699 123 987, please.' });
    const document = (await ok('POST', '/knowledge/', { title: `About ${NAME}`, body: 'Opens at nine.' }))
      .json;
    await ok('PATCH', `/knowledge/${document.id}`, { title: 'About hours', body: 'zero-six: 699 123 987.' });
    await ok('POST', `/knowledge/${document.id}/wordings`, { text: `What does ${NAME} say?` });
    const removed = (await ok('POST', '/knowledge/', { title: `${NAME} again`, body: 'Nine.' })).json;
    await ok('DELETE', `/knowledge/${removed.id}`);
    await ok('GET', '/export');
    await whatsapp.quiet();
    assert.ok(receiver.received.some(({ body }) => WORDS.test(body)));
    assert.ok(push.accepted.length > 0);

    const planted = (await tablesWith(deskbell.database, CANARIES)).map((place) => place.split(':')[0]);
    const { tables } = { tables: new Set(planted) };
    for (const table of [
      ...['conversations', 'conversation_messages', 'notifications', 'asks', 'answered_questions'],
      ...['notification_notes', 'deliveries', 'delivery_events', 'events', 'documents', 'document_versions'],
      ...['document_wordings', 'knowledge_removals', 'recognitions', 'saved_replies', 'idempotency_keys'],
      ...['customer_windows', 'reached_customers', 'send_pace'],
    ])
      assert.ok(tables.has(table), `nothing was planted in ${table}`);
    const figures = async () => {
      const { weeks, answered_per_day, answered_by } = (await ok('GET', '/overview')).json;
      return { weeks, answered_per_day, answered_by };
    };
    const before = await figures();

    const reply = await ok('DELETE', `/conversation/${id}`);
    assert.deepEqual([reply.status, reply.json.conversation_ids], [202, [id, other].sort((a, b) => a - b)]);
    const { call } = callsOf(deskbell);
    assertError(await call('GET', `/conversation/${id}`), 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assertError(
      await call('DELETE', `/conversation/${id}`),
      404,
      'CONVERSATION_NOT_FOUND',
      'conversation_id',
    );
    await erased(deskbell);

    assert.deepEqual(await tablesWith(deskbell.database, CANARIES), []);
    assert.deepEqual(filesWith(deskbell, FILE_CANARIES), []);
    // The merchant's own answer stays.
    const taught = (await ok('GET', '/knowledge/')).json.filter(({ body }: { body: string }) =>
      /We call|Ask/.test(body),
    );
    assert.deepEqual(taught.map(({ title, body }: { title: string; body: string }) => [title, body]).sort(), [
      ['Dear …, yes. We call … first.', 'Dear …, yes. We call … first.'],
      ['How we call', 'Ask … first, then ….'],
    ]);
    // What happened still counts.
    assert.deepEqual(await figures(), before);
    const { json: audit } = await ok('GET', '/audit?what=conversation.erased');
    assert.deepEqual(
      audit.map(({ about }: { about: object }) => about),
      [{ conversation_id: other }, { conversation_id: id }],
    );
  });
});
