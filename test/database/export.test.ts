import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXPORT_SECTIONS } from '../../src/exportSections.ts';
import { createKey } from '../support/machineKeys.ts';
import {
  addUser,
  assertError,
  BOREALIS,
  login,
  logout,
  onEachEngine,
  raise,
  useDeskbell,
  useOwners,
} from '../support/server.ts';
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
  const deskbell = useDeskbell(engine);
  const owners = useOwners(deskbell);
  const read = async (token: string) => {
    const reply = await deskbell.call('GET', '/api/v1/export', { token });
    assert.equal(reply.status, 200, reply.text);
    const lines = reply.text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    return { reply, byType: Map.groupBy(lines, ({ type }) => type as string) };
  };

  it('has everything of the merchant, on several pages, and nothing of another', async () => {
    const { aurora: token } = owners;
    const addresses: string[] = [];
    for (let n = 0; n < 60; n += 1) addresses.push(await raise(deskbell, token));
    await deskbell.call('POST', `${addresses[0]}/answer`, { token, body: { answer: 'Yes, all of them.' } });
    const messages = Array.from({ length: 60 }, (_, n) => ({ from: 'customer', text: `Message ${n}` }));
    await deskbell.call('POST', '/api/v1/conversation/1/messages', { token, body: { messages } });
    const note = { text: 'He bought the red one last year.' };
    assert.equal((await deskbell.call('POST', `${addresses[1]}/notes`, { token, body: note })).status, 200);
    const saved = { title: 'Opening hours', text: 'From nine to two.' };
    await deskbell.call('POST', '/api/v1/saved-replies', { token, body: saved });
    const key = await createKey(deskbell);
    const question = 'Do you repair grinders?';
    const customer = { phone: '+34611550101' };
    const asking = { question, customer, reference: 'run-42', metadata: { thread: 'abc' } };
    await deskbell.call('POST', '/api/v1/ask', { token: key, body: asking });
    const document = (await deskbell.call('GET', '/api/v1/knowledge', { token })).json[0];
    // The assistant gets it as the answer, or as the best candidate.
    await deskbell.call('POST', '/api/v1/ask', { token: key, body: { question: document.title, customer } });
    await deskbell.allSent();
    await deskbell.call('POST', `/api/v1/knowledge/${document.id}/wordings`, {
      ...{ token, body: { text: 'Which beans have no caffeine?' } },
    });
    const { id: removed } = (
      await deskbell.call('POST', '/api/v1/knowledge', { token, body: { title: 'Old', body: 'Gone soon.' } })
    ).json;
    await deskbell.call('DELETE', `/api/v1/knowledge/${removed}`, { token });
    await deskbell.database.run(
      `insert into wrong_phones (merchant_id, conversation_id, phone, replaced_by, created_at)
        values (1, 1, '+34611550199', '+34611550101', $1)`,
      [deskbell.clock.now().toISOString()],
    );
    const { reply, byType } = await read(token);
    assert.match(reply.headers.get('content-type')!, /^application\/x-ndjson/);
    assert.match(reply.headers.get('content-disposition')!, /attachment/);

    const { json: notifications } = await deskbell.call('GET', '/api/v1/notification/', { token });
    const ids = (rows: { id: number }[]) => rows.map(({ id }) => id).sort((a, b) => a - b);
    assert.deepEqual(ids(byType.get('notification')!), ids(notifications));
    const [answered] = byType.get('notification')!.filter(({ id }) => addresses[0]!.endsWith(`/${id}`));
    assert.equal(answered.answer.answer, 'Yes, all of them.');
    assert.equal(answered.answered_by, 'Alma Reyes');
    assert.equal(byType.get('merchant')![0].name, 'Aurora Coffee');
    assert.deepEqual(ids(byType.get('conversation')!), [1, 2, 3]);
    assert.ok(byType.get('message')!.length >= 60);
    for (const { type } of EXPORT_SECTIONS) assert.ok((byType.get(type) ?? []).length > 0, type);
    assert.deepEqual(
      byType.get('note')!.map(({ text, mentions }) => [text, mentions]),
      [[note.text, []]],
    );
    assert.equal(byType.get('saved_reply')!.at(-1).title, saved.title);
    const [ask] = byType.get('ask')!.filter(({ reference }) => reference === 'run-42');
    assert.deepEqual(ask.metadata, { thread: 'abc' });
    const deliveries = new Set(ids(byType.get('delivery')!));
    for (const { delivery_id } of byType.get('delivery_event')!) assert.ok(deliveries.has(delivery_id));
    assert.doesNotMatch(reply.text, /password_hash|argon2|Borealis/);
    assert.ok(!reply.text.includes(key));

    const other = await read(owners.borealis);
    assert.doesNotMatch(other.reply.text, /Aurora|all of them/);
    const [event] = (await deskbell.call('GET', '/api/v1/audit?what=merchant.exported', { token })).json;
    assert.equal(event.who.kind, 'user');
  });

  it('is only for owners', async () => {
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [user.id]);
    const member = await deskbell.signIn(user.email, user.password);
    assertError(await deskbell.call('GET', '/api/v1/export', { token: member }), 403, 'FORBIDDEN');
    const key = await createKey(deskbell);
    assertError(await deskbell.call('GET', '/api/v1/export', { token: key }), 403, 'INSUFFICIENT_SCOPE');
  });

  it('ends when its owner signs out, and another one can begin', async () => {
    // More than connections buffer. Not at once: a statement may take three seconds.
    for (let part = 0; part < 8; part += 1)
      await deskbell.database.run(
        `insert into saved_replies (merchant_id, title, text, created_at, updated_at)
          with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 50)
          select 2, 'Long', $1, $2, $2 from numbers`,
        ['x'.repeat(100_000), deskbell.clock.now().toISOString()],
      );
    const { access_token: token, refresh_token } = (await login(deskbell, BOREALIS)).json;
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${deskbell.url}/api/v1/export`, { headers });
    const reader = response.body!.getReader();
    assert.ok((await reader.read()).value);
    assertError(await deskbell.call('GET', '/api/v1/export', { token }), 429, 'RATE_LIMITED');
    assert.equal((await logout(deskbell, refresh_token)).status, 200);
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    });
    await until('it has ended', async () => {
      const again = await fetch(`${deskbell.url}/api/v1/export`, {
        headers: { authorization: `Bearer ${owners.borealis}` },
      });
      await again.body!.cancel();
      return again.status === 200;
    });
  });
});
