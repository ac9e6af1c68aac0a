import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { TABLES } from '../../src/tables.ts';
import { filesWith, tablesWith } from '../support/canaries.ts';
import { CANARIES, callsOf, FILE_CANARIES, NAME, PHONE, WORDS } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { assertError, onEachEngine } from '../support/server.ts';
import { type PushService, startPushService } from '../support/stand-ins/push.ts';
import { useWhatsApp } from '../support/whatsapp.ts';

const DAY_SECONDS = 24 * 60 * 60;
const TEST_MAX_SECONDS = 10 * 60;
/** What needs more than this test does, or has only ids and what is sealed. */
const NOT_PLANTED = [
  ...['wrong_phones', 'ungrouped_notifications', 'document_vectors', 'simulator_messages', 'inbox_index'],
  'new_events',
];
/** Where the customer's words must have been. */
const PLANTED = TABLES.flatMap(({ name, customer }) =>
  !customer || customer.erase === 'stays' || NOT_PLANTED.includes(name) ? [] : [name],
);
/** The columns that must have had them. Those of a takeover have something of a colleague. */
const PLANTED_COLUMNS = TABLES.flatMap(({ name, customer }) =>
  Object.keys(typeof customer?.erase === 'object' ? customer.erase : {}).flatMap((column) =>
    column.startsWith('taken_over') ? [] : [{ name, column }],
  ),
);

onEachEngine('a customer who is erased', (engine) => {
  const whatsapp = useWhatsApp(engine, { PUSH_ALLOW_PRIVATE: 'true', ACCESS_TOKEN_TTL_SECONDS: '86400' });
  let receiver: Receiver;
  let push: PushService;
  before(async () => {
    [receiver, push] = [await startReceiver(), await startPushService()];
  });
  after(() => Promise.all([receiver?.close(), push?.close()]));

  it('is in no table, index or file any more, by whatever way the person came in', async () => {
    const { deskbell, meta } = whatsapp;
    const { clock, database } = deskbell;
    // The figures are of days and weeks, which must not end during the test.
    const left = DAY_SECONDS - ((clock.now().getTime() / 1000) % DAY_SECONDS);
    if (left < TEST_MAX_SECONDS) clock.jump(left);
    const { ok, call, raise, answered, conversation, erase } = callsOf(deskbell);
    const key = (name: string) => ({ 'Idempotency-Key': name });
    const token = await createKey(deskbell);
    await ok('POST', '/webhooks', { url: receiver.url, include_content: true });
    await ok('PUT', '/alerts/subscriptions', push.browser());

    const given = { reference: 'zqx-crm-1', customer_name: NAME, customer_phone: PHONE };
    const id: number = (await ok('POST', '/conversation/', given, key('order-1'))).json.id;
    const other = await conversation('zqx-crm-2');
    const ask = (name: string, more: object = {}) => {
      const body = { question: 'Do you ship zqxask boxes to Vigo?', conversation_id: id, ...more };
      return deskbell.call('POST', '/api/v1/ask', { token, body, headers: key(name) });
    };
    await meta.customerWrites(PHONE, { text: { body: 'zqxinbound hello' } });
    await whatsapp.quiet();
    const asked = await ask('ask-1', { reference: 'zqxrun', metadata: { note: 'zqxmeta' } });
    const answer = { answer: 'Dear Zqxella, yes. We call +34 699 123 987 first.' };
    await ok('POST', `/notification/${asked.json.id}/answer`, answer, key('answer-1'));
    assert.equal((await ask('ask-2')).json.status, 'known');
    const teach = { do: 'new', title: 'How we call', text: 'Ask Zqxella first, then 0034 699123987.' };
    const lead_phone = '699.12.39.87';
    await answered(id, { question: 'zqxraise: call (699) 12-39-87', lead_phone }, { answer: 'zqx', teach });
    const support = await raise(other, { support_request_reason: 'zqxsupport' }, 'user_support_request');
    const solved = { agent_response_to_customer: 'zqxreply', resolution_notes: 'zqxnotes' };
    await ok('POST', `/notification/${support}/answer`, solved);
    await answered(id, { question: 'zqxwrong?', lead_phone: 'zqxphone 12' });
    meta.next({ failsWith: 131026 });
    await answered(other, { question: 'zqxfails?' }, { only_send_campaign: true });
    await answered(other, { question: 'zqxlater?' }, { only_send_campaign: true });
    await whatsapp.quiet();
    await answered(id, { question: 'zqxheld?' }, { undo_seconds: 60 });
    const open = await raise(id, { question: 'zqxopen?', more: { deep: 'zqxdeep' } });
    await ok('POST', `/notification/${open}/notes`, { text: 'zqxnote: +34699123987' });
    await ok('DELETE', `/notification/${await raise(id, { question: 'zqxgone?' })}`);
    const said = { from: 'assistant', text: 'zqxsaid', message_id: 'zqxm' };
    await ok('POST', `/conversation/${id}/messages`, said);
    await ok('PUT', `/conversation/${id}/takeover`);
    await ok('POST', `/conversation/${id}/send`, { text: 'zqxdirect' }, key('send-1'));
    await ok('POST', `/conversation/${other}/send`, { text: 'zqxundone', undo_seconds: 60 });
    await ok('POST', '/saved-replies/', { title: `For ${NAME}`, text: 'Call 699 123 987, please.' });
    const write = async (title: string): Promise<number> =>
      (await ok('POST', '/knowledge/', { title, body: 'Opens at nine.' })).json.id;
    const document = await write(`About ${NAME}`);
    await ok('PATCH', `/knowledge/${document}`, { title: 'About hours', body: 'zero-six: 699 123 987.' });
    await ok('POST', `/knowledge/${document}/wordings`, { text: `What does ${NAME} say?` });
    await ok('DELETE', `/knowledge/${await write(`${NAME} again`)}`);
    await ok('GET', '/export');
    await whatsapp.quiet();
    assert.ok(receiver.received.some(({ body }) => WORDS.test(body)));
    assert.ok(push.accepted.length > 0);
    const planted = (await tablesWith(database, CANARIES)).map((place) => place.split(':')[0]);
    assert.deepEqual(
      PLANTED.filter((table) => !planted.includes(table)),
      [],
    );
    for (const { name, column } of PLANTED_COLUMNS) {
      const rows = await database.all<{ text: string | null }>(`select ${column} as text from ${name}`);
      const isPlanted = rows.some(({ text }) => CANARIES.some((canary) => canary.test(text ?? '')));
      assert.ok(isPlanted, `${name}.${column}`);
    }
    const figures = async () => {
      const { weeks, answered_per_day, answered_by } = (await ok('GET', '/overview')).json;
      return { weeks, answered_per_day, answered_by };
    };
    const before = await figures();

    const reply = await erase(id);
    assert.deepEqual([reply.status, reply.json.conversation_ids], [202, [id, other].sort((a, b) => a - b)]);
    for (const method of ['GET', 'DELETE'])
      assertError(
        await call(method, `/conversation/${id}`),
        ...([404, 'CONVERSATION_NOT_FOUND', 'conversation_id'] as const),
      );
    assert.deepEqual(await tablesWith(database, CANARIES), []);
    assert.deepEqual(filesWith(deskbell, FILE_CANARIES), []);
    // The merchant's own answers stay, without the person.
    const texts: string[] = (await ok('GET', '/knowledge/')).json.map(({ body }: { body: string }) => body);
    for (const taught of ['Dear …, yes. We call … first.', 'Ask … first, then ….'])
      assert.ok(texts.includes(taught), taught);
    // What happened still counts.
    assert.deepEqual(await figures(), before);
    const { json: audit } = await ok('GET', '/audit?what=conversation.erased');
    assert.deepEqual(
      audit.map(({ about }: { about: object }) => about),
      [{ conversation_id: other }, { conversation_id: id }],
    );
  });
});
