import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { hash } from '@node-rs/argon2';
import type { NotificationType } from '../../../src/contract/notifications.ts';
import type { Database } from '../../../src/database/database.ts';
import { answerSchemaId, KINDS, storeAnswerSchemas } from '../../../src/notifications/kinds.ts';
import { run, settingsOf } from '../../support/command.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { AURORA, type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';
import { phoneOf } from '../../support/shops.ts';
import { META, type Meta, metaEnv, startMeta } from '../../support/stand-ins/meta.ts';
import { createDatabaseAt, insertRow } from '../../support/upgrades/database.ts';

/** The last migration of version 0.1.0. test/database/upgrade.test.ts upgrades what its API and commands had left. */
const OLD_VERSION = 5;

const HOUR_SECONDS = 3600;
type Columns = Record<string, string | number | null>;
const SENDING = { state: 'sending', attempts: 1 };

/** One delivery in every state that a server may have stored. Its name is also its key and its text. */
const deliveries = (at = (_seconds: number) => '') =>
  ({
    queued: { recipient: phoneOf(1), state: 'queued' },
    second: { recipient: phoneOf(2), state: 'queued' },
    third: { recipient: phoneOf(2), state: 'queued' },
    fourth: { recipient: phoneOf(2), state: 'queued' },
    retried: { recipient: phoneOf(3), state: 'queued', attempts: 2, due_at: at(30) },
    // Their worker died: one arrived, the other did not.
    lost: { recipient: phoneOf(4), ...SENDING },
    arrived: { recipient: phoneOf(5), ...SENDING },
    unsettled: { recipient: phoneOf(6), ...SENDING, due_at: at(50), unsettled_since: at(-10) },
    'taken over': { recipient: phoneOf(7), state: 'sending', attempts: 2, due_at: at(20), taken_over: 1 },
    campaign: { recipient: phoneOf(8), state: 'waiting', waiting_for: 'limit', due_at: at(HOUR_SECONDS) },
    'reply behind it': { recipient: phoneOf(8), state: 'queued' },
    'campaign behind it': { recipient: phoneOf(8), state: 'queued' },
    silent: { recipient: phoneOf(9), state: 'waiting', waiting_for: 'customer', due_at: at(7000 * 86_400) },
    sent: { recipient: phoneOf(10), state: 'sent', attempts: 1, channel_message_id: 'wamid.sent' },
    read: { recipient: phoneOf(11), state: 'read', attempts: 1, channel_message_id: 'wamid.read' },
    failed: { recipient: phoneOf(12), state: 'failed', attempts: 16 },
    'another merchant’s': { recipient: phoneOf(2), state: 'queued', merchant_id: 2 },
  }) satisfies Record<string, Columns>;
const DELIVERIES: Record<string, Columns & { recipient: string; state: string }> = deliveries();
const SENT_AT_ONCE = ['queued', 'second', 'third', 'fourth', 'reply behind it', 'another merchant’s'];

async function fillDeliveries(database: Database): Promise<void> {
  const now = Date.now();
  const at = (seconds: number) => new Date(now + seconds * 1000).toISOString();
  const time = at(-60);
  for (const [index, [key, columns]] of Object.entries<Columns>(deliveries(at)).entries()) {
    const [id, isCampaign] = [index + 1, key.startsWith('campaign')];
    const { merchant_id = 1, recipient = '' } = columns;
    await insertRow(database, 'deliveries', {
      ...{ id, key, content: key, merchant_id, conversation_id: merchant_id },
      ...{ notification_id: 99, attempts: 0 },
      ...{ mode: isCampaign ? 'campaign' : 'reply', needs_place: isCampaign ? 1 : 0, taken_over: 0 },
      ...{ due_at: time, created_at: time, updated_at: time, ...columns },
    });
    await insertRow(database, 'delivery_events', { merchant_id, delivery_id: id, at: time, state: 'queued' });
    const channel_id = `whatsapp:${META.phoneNumberId}`;
    if (key !== 'silent')
      await insertRow(database, 'customer_windows', { channel_id, phone: recipient, opened_at: time });
  }
  // Another customer uses the daily limit for one more hour.
  const reached = { recipient: '+34699999999', reached_at: at(-23 * HOUR_SECONDS), delivery_key: 'k' };
  await insertRow(database, 'reached_customers', { merchant_id: 1, ...reached });
}

const QUESTION = 'user_question_request';
const SUPPORT = 'user_support_request';
const CANCELLED = '{"cancelled":true}';
const LIE = '{"answer":"A lie: \\"resolve_only\\":true}","resolve_only":true}';

/** Across the edges of a quarter of an hour, of a day and of a class of times. */
const NOTIFICATIONS: readonly [
  type: NotificationType,
  text: string,
  asked: string,
  answered?: string,
  answer?: string,
][] = [
  [QUESTION, 'Is the decaf back?', 'T09:14:59.999Z'],
  [QUESTION, 'Do you grind beans?', 'T09:15:00.000Z', 'T09:15:00.400Z'],
  [QUESTION, 'Do you ship to Faro?', 'T09:29:59.000Z', 'T09:31:03.000Z'],
  [QUESTION, 'Are you open today?', 'T23:44:00.000Z', 'T23:59:59.999Z'],
  [SUPPORT, 'Parcel lost', 'T10:00:00.000Z', 'T22:45:00.000Z'],
  [QUESTION, 'Spam?', 'T11:00:00.000Z', 'T11:01:00.000Z', LIE],
  [QUESTION, 'Tricky?', 'T12:00:00.000Z', 'T12:30:00.000Z', '{"answer":"\\"resolve_only\\":true}"}'],
  [QUESTION, 'Never mind', 'T13:00:00.000Z', 'T13:00:05.000Z', CANCELLED],
];

const VERSIONS = ['S', 'M, ü', 'XL'];

const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);

async function fillShops(database: Database): Promise<void> {
  const created_at = `${day}T08:00:00.000Z`;
  const password_hash = await hash(AURORA.password, { memoryCost: 8, timeCost: 1 });
  for (const id of [1, 2]) {
    await insertRow(database, 'merchants', { id, name: `Shop ${id}`, created_at });
    const customer = { reference: `ticket ${id}`, customer_name: 'Ana', customer_phone: '+34611550101' };
    const row = { merchant_id: id, id, ...customer, created_at, updated_at: created_at };
    await insertRow(database, 'conversations', row);
  }
  const owner = { email: AURORA.email, email_key: AURORA.email, name: 'Alma', role: 'owner', password_hash };
  await insertRow(database, 'users', { merchant_id: 1, ...owner, created_at });
  await storeAnswerSchemas(database);
  for (const [type, text, asked, answered, answer = '{"answer":"Yes."}'] of NOTIFICATIONS) {
    const { requestedFields, answeredFields } = KINDS[type];
    await insertRow(database, 'notifications', {
      ...{ merchant_id: 1, conversation_id: 1, notification_type: type },
      status: answered ? 'answered' : 'requested',
      created_at: day + asked,
      updated_at: day + (answered ?? asked),
      context: JSON.stringify({ [requestedFields[0]!]: text }),
      requested_fields: JSON.stringify(requestedFields),
      answered_fields: JSON.stringify(answeredFields),
      answer_schema_id: answerSchemaId(KINDS[type]),
      answer: answered ? answer : null,
      answered_by: answered && answer !== CANCELLED ? 1 : null,
    });
  }
  // A document that was changed twice.
  const text = { title: 'Größen', title_words: '', words: '', word_forms: '' };
  const times = { created_at, updated_at: created_at };
  await insertRow(database, 'documents', {
    merchant_id: 1,
    id: 1,
    body: 'XL',
    version: 3,
    ...text,
    ...times,
  });
  for (const [index, body] of VERSIONS.entries()) {
    const row = { merchant_id: 1, document_id: 1, version: index + 1, title: 'Größen', body, what: 'edit' };
    await insertRow(database, 'document_versions', { ...row, created_at });
  }
}

const countedIn = async (database: Database) => ({
  quarters: await database.all(
    `select at, notification_type, asked, answered, resolved from statistics_quarters
      where asked <> 0 or answered <> 0 or resolved <> 0 order by at, notification_type`,
  ),
  days: await database.all('select day, what, number, count from statistics_days order by day, what, number'),
  inbox: await database.all('select bytes, pending_bytes from inboxes where merchant_id = 1'),
});

onEachEngine('a database of version 0.1.0 with rows in every state', (engine) => {
  let testDatabase: TestDatabase;
  let meta: Meta;
  let deskbell: Deskbell;
  let token: string;
  before(async () => {
    testDatabase = await createDatabaseAt(engine, OLD_VERSION, async (database) => {
      await fillShops(database);
      await fillDeliveries(database);
    });
    let now = () => new Date();
    meta = await startMeta({ now: () => now() });
    meta.statuses = [];
    for (const { recipient } of Object.values(DELIVERIES)) await meta.customerWrites(recipient);
    deskbell = await startDeskbell(engine, metaEnv(meta, { CHANNEL_DAILY_LIMIT: '1' }), testDatabase);
    now = deskbell.clock.now;
    meta.webhookUrl = `${deskbell.url}/webhooks/whatsapp`;
    await deskbell.allSent();
    deskbell.clock.stop();
  });
  after(async () => {
    await deskbell?.close();
    await meta?.close();
    await testDatabase?.remove();
  });

  const stateOf = async (key: string) =>
    (await deskbell.database.one<{ state: string }>('select state from deliveries where key = $1', [key]))!
      .state;
  const later = async (seconds: number) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
  };
  const sentKeys = () => meta.accepted.map(({ key }) => key).sort();
  /** A status as Meta sends it for a message that an earlier release has sent. */
  const report = async (key: string, status: 'sent' | 'delivered', wamid = `wamid.${key}`) => {
    const { recipient } = DELIVERIES[key]!;
    await meta.report({ wamid, key, to: recipient } as never, status);
    await deskbell.allSent();
  };

  const read = async (path: string) => {
    const reply = await deskbell.call('GET', path, { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };

  it('has its questions in the right tabs, and finds them by their words at once', async () => {
    token = await deskbell.signIn();
    const counts: Record<string, { count: number }> = await read('/api/v1/inbox/counts');
    const found = Object.entries(counts).map(([tab, { count }]) => [tab, count]);
    assert.deepEqual(Object.fromEntries(found), { open: 1, attention: 0, answered: 5, resolved: 2, all: 8 });
    assert.equal((await read('/api/v1/inbox?tab=all&q=decaf')).items.length, 1);
  });

  it('has its messages sent at once and in order if nothing blocks them', async () => {
    assert.deepEqual(sentKeys(), [...SENT_AT_ONCE].sort());
    for (const key of SENT_AT_ONCE) assert.equal(await stateOf(key), 'sent', key);
    const toOne = meta.accepted.filter(({ to, key }) => to === phoneOf(2) && !key.includes('merchant'));
    assert.deepEqual(
      toOne.map(({ content }) => content),
      ['second', 'third', 'fourth'],
    );
  });

  it('still gets statuses of messages that were sent before', async () => {
    await report('sent', 'delivered');
    assert.equal(await stateOf('sent'), 'delivered');
    for (const key of ['arrived', 'unsettled']) {
      assert.equal(await stateOf(key), 'sending');
      await report(key, 'sent');
      assert.equal(await stateOf(key), 'sent', key);
    }
  });

  it('sends messages again if their worker died and no status arrives, and on time if they wait', async () => {
    await later(40);
    assert.deepEqual([await stateOf('retried'), await stateOf('lost')], ['sent', 'sending']);
    await later(60);
    await later(60);
    assert.deepEqual([await stateOf('lost'), await stateOf('taken over')], ['sent', 'sent']);
    await meta.customerWrites(DELIVERIES.silent!.recipient);
    await deskbell.allSent();
    assert.equal(await stateOf('silent'), 'sent');
    assert.equal(await stateOf('campaign'), 'waiting');
    await later(HOUR_SECONDS);
    assert.deepEqual([await stateOf('campaign'), await stateOf('campaign behind it')], ['sent', 'sent']);
  });

  it('can retry messages that have failed; none is lost, and none is sent twice', async () => {
    const env = { ...settingsOf(deskbell), ...metaEnv(meta) };
    const done = await run(['delivery', 'retry', '--all', '--state', 'failed', '--merchant', '1'], { env });
    assert.equal(done.code, 0, done.stderr);
    await deskbell.allSent();
    await later(24 * HOUR_SECONDS);
    const sentBefore = ['sent', 'read', 'arrived', 'unsettled'];
    assert.deepEqual(
      sentKeys(),
      Object.keys(DELIVERIES)
        .filter((key) => !sentBefore.includes(key))
        .sort(),
    );
    const open = await deskbell.database.all(
      `select key, state from deliveries where state not in ('sent', 'delivered', 'read')`,
    );
    assert.deepEqual(open, []);
  });

  it('has the overview and the storage as if everything had been counted when it was written', async () => {
    const migrated = await countedIn(deskbell.database);
    assert.ok(migrated.quarters.length > 5 && migrated.days.length > 2);
    const fresh = await createDatabaseAt(engine, Number.POSITIVE_INFINITY, async (database) => {
      await fillShops(database);
      assert.deepEqual(migrated, await countedIn(database));
    });
    await fresh.remove();
  });
});
