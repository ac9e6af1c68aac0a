import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { forEngine } from '../../src/database/upgrade/files.ts';
import { run, settingsOf } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { type Deskbell, onEachEngine, startDeskbell } from '../support/server.ts';
import { phoneOf } from '../support/shops.ts';
import { META, type Meta, metaEnv, startMeta } from '../support/stand-ins/meta.ts';

/** The migrations before the queue was rebuilt, with the checksums that they were applied with. */
const OLD = [
  ['0001_foundation', '3fdc275f833caec2'],
  ['0002_delivery', 'ccd43a4d63c98069'],
  ['0003_knowledge', '5beaaef39de755c9'],
  ['0004_live', '7726789830885edb'],
  ['0005_upkeep', '1d155a2c893be12a'],
] as const;

async function migrateAsBefore(database: Database, at: string): Promise<void> {
  await database.script(
    `create table if not exists schema_migrations (
      version integer primary key, name text not null, checksum text not null, applied_at text not null
    );`,
  );
  for (const [file, checksum] of OLD) {
    const text = readFileSync(new URL(`../../migrations/${file}.sql`, import.meta.url), 'utf8');
    await database.script(
      `${forEngine(text, database.engine)}
        insert into schema_migrations (version, name, checksum, applied_at)
          values (${Number(file.slice(0, 4))}, '${file.slice(5)}', '${checksum}', '${at}');`,
    );
  }
}

interface OldDelivery {
  recipient: string;
  state: string;
  merchant_id?: number;
  mode?: 'reply' | 'campaign';
  waiting_for?: string;
  attempts?: number;
  /** Relative to now. */
  due_seconds?: number;
  taken_over?: number;
  unsettled?: boolean;
  channel_message_id?: string;
}

const HOUR_SECONDS = 3600;

/** One delivery in every state that a server may have stored. Its name is also its key and its text. */
const DELIVERIES: Record<string, OldDelivery> = {
  queued: { recipient: phoneOf(1), state: 'queued' },
  second: { recipient: phoneOf(2), state: 'queued' },
  third: { recipient: phoneOf(2), state: 'queued' },
  fourth: { recipient: phoneOf(2), state: 'queued' },
  retried: { recipient: phoneOf(3), state: 'queued', attempts: 2, due_seconds: 30 },
  // Their worker died: one arrived, the other did not.
  lost: { recipient: phoneOf(4), state: 'sending', attempts: 1 },
  arrived: { recipient: phoneOf(5), state: 'sending', attempts: 1 },
  unsettled: { recipient: phoneOf(6), state: 'sending', attempts: 1, due_seconds: 50, unsettled: true },
  'taken over': { recipient: phoneOf(7), state: 'sending', attempts: 2, due_seconds: 20, taken_over: 1 },
  campaign: {
    ...{ recipient: phoneOf(8), mode: 'campaign', state: 'waiting', waiting_for: 'limit' },
    due_seconds: HOUR_SECONDS,
  },
  'reply behind it': { recipient: phoneOf(8), state: 'queued' },
  'campaign behind it': { recipient: phoneOf(8), mode: 'campaign', state: 'queued' },
  silent: {
    ...{ recipient: phoneOf(9), state: 'waiting', waiting_for: 'customer' },
    due_seconds: 7000 * 24 * HOUR_SECONDS,
  },
  sent: { recipient: phoneOf(10), state: 'sent', attempts: 1, channel_message_id: 'wamid.sent' },
  read: { recipient: phoneOf(11), state: 'read', attempts: 1, channel_message_id: 'wamid.read' },
  failed: { recipient: phoneOf(12), state: 'failed', attempts: 16 },
  'another merchant’s': { recipient: phoneOf(2), state: 'queued', merchant_id: 2 },
};
const SENT_AT_ONCE = ['queued', 'second', 'third', 'fourth', 'reply behind it', 'another merchant’s'];

/** Inserts it in the format of the old release. */
async function fill(database: Database, now: Date): Promise<void> {
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
  const time = at(-60);
  for (const id of [1, 2]) {
    await database.run('insert into merchants (id, name, created_at) values ($1, $2, $3)', [
      id,
      `Shop ${id}`,
      time,
    ]);
    await database.run(
      `insert into conversations (merchant_id, id, reference, customer_name, customer_phone, created_at, updated_at)
        values ($1, $2, $3, 'Ana', '+34611550101', $4, $4)`,
      [id, id, `ticket ${id}`, time],
    );
  }
  for (const [key, delivery] of Object.entries(DELIVERIES)) {
    const { merchant_id = 1, mode = 'reply', attempts = 0, due_seconds = -60 } = delivery;
    const [row] = await database.run<{ id: number }>(
      `insert into deliveries (merchant_id, key, notification_id, conversation_id, recipient, mode, content, state,
          waiting_for, attempts, due_at, taken_over, unsettled_since, channel_message_id, needs_place, created_at,
          updated_at)
        values ($1, $2, 1, $1, $3, $4, $2, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning id`,
      [
        merchant_id,
        key,
        delivery.recipient,
        mode,
        delivery.state,
        delivery.waiting_for ?? null,
        attempts,
        at(due_seconds),
        delivery.taken_over ?? 0,
        delivery.unsettled ? at(-10) : null,
        delivery.channel_message_id ?? null,
        mode === 'campaign' ? 1 : 0,
        time,
      ],
    );
    await database.run(
      `insert into delivery_events (merchant_id, delivery_id, at, state) values ($1, $2, $3, 'queued')`,
      [merchant_id, row!.id, time],
    );
    if (key === 'silent') continue;
    await database.run(
      `insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3) on conflict do nothing`,
      [`whatsapp:${META.phoneNumberId}`, delivery.recipient, time],
    );
  }
  // Another customer uses the daily limit for one more hour.
  await database.run(
    `insert into reached_customers (merchant_id, recipient, reached_at, delivery_key) values (1, '+34699999999', $1, 'k')`,
    [at(-23 * HOUR_SECONDS)],
  );
}

onEachEngine('deliveries of a database from before the upgrade', (engine) => {
  let testDatabase: TestDatabase;
  let meta: Meta;
  let deskbell: Deskbell;
  before(async () => {
    testDatabase = await createTestDatabase(engine);
    const database = await openDatabase(readConfig(testDatabase.env), 'serve');
    await migrateAsBefore(database, '2026-01-01T00:00:00.000Z');
    await fill(database, new Date());
    await database.close();

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
  const idOf = async (key: string) =>
    (await deskbell.database.one<{ id: number }>('select id from deliveries where key = $1', [key]))!.id;
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

  it('are sent at once and in order if nothing blocks them', async () => {
    assert.deepEqual(sentKeys(), [...SENT_AT_ONCE].sort());
    for (const key of SENT_AT_ONCE) assert.equal(await stateOf(key), 'sent', key);
    const toOne = meta.accepted.filter(({ to, key }) => to === phoneOf(2) && !key.includes('merchant'));
    assert.deepEqual(
      toOne.map(({ content }) => content),
      ['second', 'third', 'fourth'],
    );
  });

  it('keep their history', async () => {
    const env = { ...settingsOf(deskbell), ...metaEnv(meta) };
    const { json } = await run(['delivery', 'show', `${await idOf('sent')}`, '--merchant', '1', '--json'], {
      env,
    });
    assert.deepEqual([json.state, json.content, json.timeline.length], ['sent', 'sent', 1]);
    for (const key of ['read', 'failed', 'campaign', 'silent', 'retried']) {
      assert.equal(await stateOf(key), DELIVERIES[key]!.state, key);
    }
    const row = await deskbell.database.one<{ reference: string }>(
      `select reference from deliveries where key = 'retried'`,
    );
    assert.equal(row!.reference, 'ticket 1');
  });

  it('still get statuses if they were sent before', async () => {
    await report('sent', 'delivered');
    assert.equal(await stateOf('sent'), 'delivered');
    for (const key of ['arrived', 'unsettled']) {
      assert.equal(await stateOf(key), 'sending');
      await report(key, 'sent');
      assert.equal(await stateOf(key), 'sent', key);
    }
  });

  it('are sent again if their worker died and no status arrives, and are sent on time if they wait', async () => {
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

  it('can be retried if they have failed; none is lost, and none is sent twice', async () => {
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
});
