import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXPORT_SECTIONS } from '../../src/exportSections.ts';
import { useMerchant } from '../support/merchants.ts';
import { assertError, login, logout, onEachEngine } from '../support/server.ts';
import { until } from '../support/shops.ts';
import { TABLES } from '../support/tables.ts';

/** The tables of a merchant's data, and the type of their lines. */
const EXPORTED: Record<string, string> = {
  merchants: 'merchant',
  users: 'user',
  machine_keys: 'key',
  saved_replies: 'saved_reply',
  conversations: 'conversation',
  wrong_phones: 'wrong_phone',
  conversation_messages: 'message',
  notifications: 'notification',
  asks: 'ask',
  notification_notes: 'note',
  deliveries: 'delivery',
  delivery_events: 'delivery_event',
  documents: 'document',
  document_wordings: 'wording',
  document_versions: 'document_version',
  knowledge_removals: 'document_removal',
  recognitions: 'recognition',
  audit_events: 'audit_event',
};

const SECRETS = 'secrets, or of no use without them';
const COPIED = 'made from what is exported';
const PASSING = 'of use for minutes or days only';
const OPERATORS = 'of the server, not of a merchant';
const PERSONAL = 'a person’s own settings, which they see in their account';
const NOT_EXPORTED: Record<string, string> = {
  ...{ sessions: SECRETS, totp_secrets: SECRETS, recovery_codes: SECRETS, passkeys: SECRETS },
  ...{ password_resets: SECRETS, invites: SECRETS, channel_settings: SECRETS, webhook_endpoints: SECRETS },
  ...{ push_subscriptions: SECRETS, mails: SECRETS },
  ...{ new_events: COPIED, events: COPIED, event_logs: COPIED, answered_questions: COPIED },
  ...{ document_vectors: COPIED, vector_progress: COPIED, document_uses: COPIED, confidence: COPIED },
  ...{ inbox_changes: COPIED, inbox_index: COPIED, statistics_quarters: COPIED, statistics_days: COPIED },
  ...{ inboxes: COPIED, conversation_storage: COPIED, live_versions: COPIED, answer_schemas: COPIED },
  ...{ ungrouped_notifications: COPIED, simulator_messages: COPIED },
  ...{ idempotency_keys: PASSING, presences: PASSING, delivery_queues: PASSING, send_pace: PASSING },
  ...{ reached_customers: PASSING, customer_windows: PASSING, inbound_updates: PASSING },
  ...{ former_channels: PASSING, channel_stops: PASSING, alert_logs: PASSING, erasures: PASSING },
  ...{ sign_in_failures: OPERATORS, sign_in_places: OPERATORS, signing_keys: OPERATORS },
  ...{ revocations: OPERATORS, used_challenges: OPERATORS, vapid_keys: OPERATORS },
  schema_migrations: OPERATORS,
  background_changes: OPERATORS,
  job_leases: OPERATORS,
  sending_hold: OPERATORS,
  alert_settings: PERSONAL,
};

describe('the list of what is exported', () => {
  it('has every table, or the reason why it is not exported', () => {
    const listed = [...Object.keys(EXPORTED), ...Object.keys(NOT_EXPORTED)];
    assert.deepEqual(listed.sort(), Object.values(TABLES).flat().sort());
    assert.deepEqual(EXPORT_SECTIONS.map(({ type }) => type).sort(), Object.values(EXPORTED).sort());
  });
});

onEachEngine('the export', (engine) => {
  const shop = useMerchant(engine);
  const neighbour = useMerchant(engine);
  const read = async ({ get }: typeof shop) => {
    const reply = await get('/export');
    assert.equal(reply.status, 200, reply.text);
    const lines = reply.text.trim().split('\n');
    const rows = lines.map((line) => JSON.parse(line));
    return { reply, byType: Map.groupBy(rows, ({ type }) => type as string) };
  };

  it('has everything of the merchant, on several pages, and nothing of another', async () => {
    const { deskbell, conversationId } = shop;
    const ids: number[] = [];
    for (let n = 0; n < 60; n += 1) ids.push(await shop.raise());
    await shop.answer(ids[0]!, 'Yes, all of them.');
    const messages = Array.from({ length: 60 }, (_, n) => ({ from: 'customer', text: `Message ${n}` }));
    await shop.post(`/conversation/${conversationId}/messages`, { messages });
    const note = { text: 'He bought the red one last year.' };
    await shop.post(`/notification/${ids[1]}/notes`, note);
    await shop.post('/saved-replies', { title: 'Opening hours', text: 'From nine to two.' });
    const key = await shop.key();
    const ask = (question: string, more = {}) =>
      shop.post('/ask', { question, customer: { phone: '+34611550101' }, ...more }, { token: key });
    await ask('Do you repair grinders?', { reference: 'run-42', metadata: { thread: 'abc' } });
    const write = async (title: string): Promise<number> =>
      (await shop.post('/knowledge', { title, body: 'Gone soon.' })).json.id;
    const title = 'Which cups fit our lids?';
    const document = await write(title);
    await shop.patch('/merchant', { confident: 0.5 });
    assert.equal((await ask(title)).json.status, 'known');
    await deskbell.allSent();
    await shop.post(`/knowledge/${document}/wordings`, { text: 'Do your lids fit?' });
    await shop.delete(`/knowledge/${await write('Old')}`);
    await deskbell.database.run(
      `insert into wrong_phones (merchant_id, conversation_id, phone, replaced_by, created_at)
        values ($1, $2, '+34611550199', '+34611550101', $3)`,
      [shop.id, conversationId, deskbell.clock.now().toISOString()],
    );
    const { reply, byType } = await read(shop);
    assert.match(reply.headers.get('content-type')!, /^application\/x-ndjson/);
    assert.match(reply.headers.get('content-disposition')!, /attachment/);

    const { json: notifications } = await shop.get('/notification/');
    const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id).sort((a, b) => a - b);
    assert.deepEqual(idsOf(byType.get('notification')!), idsOf(notifications));
    const [answered] = byType.get('notification')!.filter(({ id }) => id === ids[0]);
    assert.deepEqual([answered.answer.answer, answered.answered_by], ['Yes, all of them.', shop.owner.name]);
    assert.ok(byType.get('message')!.length >= 60);
    for (const { type } of EXPORT_SECTIONS) assert.ok((byType.get(type) ?? []).length > 0, type);
    const [noted] = byType.get('note')!;
    assert.deepEqual([noted.text, noted.mentions], [note.text, []]);
    const [asked] = byType.get('ask')!.filter(({ reference }) => reference === 'run-42');
    assert.deepEqual(asked.metadata, { thread: 'abc' });
    const deliveries = new Set(idsOf(byType.get('delivery')!));
    for (const { delivery_id } of byType.get('delivery_event')!) assert.ok(deliveries.has(delivery_id));
    assert.doesNotMatch(reply.text, /password_hash|argon2|Borealis/);
    assert.ok(!reply.text.includes(key));
    assert.doesNotMatch((await read(neighbour)).reply.text, /all of them/);
    const [event] = (await shop.get('/audit?what=merchant.exported')).json;
    assert.equal(event.who.kind, 'user');
  });

  it('is only for owners', async () => {
    const { token } = await shop.colleague();
    assertError(await shop.get('/export', { token }), 403, 'FORBIDDEN');
    assertError(await shop.get('/export', { token: await shop.key() }), 403, 'INSUFFICIENT_SCOPE');
  });

  it('ends when its owner signs out, and another one can begin', async () => {
    const { deskbell } = neighbour;
    // More than connections buffer. Not at once: a statement may take three seconds.
    for (let part = 0; part < 8; part += 1)
      await deskbell.database.run(
        `insert into saved_replies (merchant_id, title, text, created_at, updated_at)
          with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 50)
          select cast($3 as bigint), 'Long', $1, $2, $2 from numbers`,
        ['x'.repeat(100_000), deskbell.clock.now().toISOString(), neighbour.id],
      );
    const { access_token: token, refresh_token } = (await login(deskbell, neighbour.owner)).json;
    const open = (token: string) =>
      fetch(`${deskbell.url}/api/v1/export`, { headers: { authorization: `Bearer ${token}` } });
    const reader = (await open(token)).body!.getReader();
    assert.ok((await reader.read()).value);
    assertError(await neighbour.get('/export'), 429, 'RATE_LIMITED');
    assert.equal((await logout(deskbell, refresh_token)).status, 200);
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    });
    await until('it has ended', async () => {
      const again = await open(await neighbour.token());
      await again.body!.cancel();
      return again.status === 200;
    });
  });
});
