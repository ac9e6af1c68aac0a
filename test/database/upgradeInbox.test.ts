import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { hash } from '@node-rs/argon2';
import { readConfig } from '../../src/config.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { NotificationType } from '../../src/contract/notifications.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { recordAsked, recordKnown } from '../../src/knowledge/confidence/store.ts';
import { answerSchemaId, KINDS, storeAnswerSchemas } from '../../src/notifications/kinds.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { AURORA, type Deskbell, onEachEngine, startDeskbell } from '../support/server.ts';

/** The last one before answers could be undone. */
const OLD_VERSION = 19;
const MIGRATIONS = new URL('../../migrations/', import.meta.url);

async function migrateAsBefore(database: Database): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-test-'));
  try {
    for (const file of readdirSync(MIGRATIONS)) {
      if (Number(file.slice(0, 4)) <= OLD_VERSION) cpSync(new URL(file, MIGRATIONS), join(folder, file));
    }
    await migrate(database, () => new Date(), pathToFileURL(`${folder}/`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const QUESTION = 'user_question_request';
const SUPPORT = 'user_support_request';
const CANCELLED = '{"cancelled":true}';

interface OldNotification {
  type: NotificationType;
  text: string;
  asked: string;
  answered?: string;
  answer?: string;
  key?: number;
}

/** Across the edges of a quarter of an hour, of a day and of a class of times. */
const NOTIFICATIONS: readonly OldNotification[] = [
  { type: QUESTION, text: 'Is the decaf back?', asked: 'T09:14:59.999Z' },
  { type: QUESTION, text: 'Do you grind beans?', asked: 'T09:15:00.000Z', answered: 'T09:15:00.400Z' },
  { type: QUESTION, text: 'Do you ship to Faro?', asked: 'T09:29:59.000Z', answered: 'T09:31:03.000Z' },
  {
    type: QUESTION,
    text: 'Are you open today?',
    asked: 'T23:44:00.000Z',
    answered: 'T23:59:59.999Z',
    key: 1,
  },
  { type: SUPPORT, text: 'Parcel lost', asked: 'T10:00:00.000Z', answered: 'T22:45:00.000Z' },
  {
    ...{ type: QUESTION, text: 'Spam?', asked: 'T11:00:00.000Z', answered: 'T11:01:00.000Z' },
    answer: '{"answer":"A lie: \\"resolve_only\\":true}","resolve_only":true}',
  },
  {
    ...{ type: QUESTION, text: 'Tricky?', asked: 'T12:00:00.000Z', answered: 'T12:30:00.000Z' },
    answer: '{"answer":"\\"resolve_only\\":true}"}',
  },
  {
    ...{ type: QUESTION, text: 'Never mind', asked: 'T13:00:00.000Z', answered: 'T13:00:05.000Z' },
    answer: CANCELLED,
  },
];

const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);

async function fillShop(database: Database): Promise<void> {
  const at = `${day}T08:00:00.000Z`;
  const passwordHash = await hash(AURORA.password, { memoryCost: 8, timeCost: 1 });
  await database.run(`insert into merchants (id, name, created_at) values (1, 'Aurora', $1)`, [at]);
  await database.run(
    `insert into users (merchant_id, email, email_key, name, role, password_hash, created_at)
      values (1, $1, $1, 'Alma', 'owner', $2, $3)`,
    [AURORA.email, passwordHash, at],
  );
  await database.run(
    `insert into conversations (merchant_id, id, reference, customer_name, customer_phone, created_at, updated_at)
      values (1, 1, 'ticket 1', 'Lucía', '+34611550101', $1, $1)`,
    [at],
  );
  await storeAnswerSchemas(database);
}

async function fillNotifications(database: Database): Promise<void> {
  for (const { type, text, asked, answered, answer = '{"answer":"Yes."}', key } of NOTIFICATIONS) {
    const { requestedFields, answeredFields } = KINDS[type];
    await database.run(
      `insert into notifications (merchant_id, conversation_id, notification_type, status, created_at, updated_at,
          context, requested_fields, answered_fields, answer_schema_id, answer, answered_by, answered_by_key)
        values (1, 1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        type,
        answered ? 'answered' : 'requested',
        day + asked,
        day + (answered ?? asked),
        JSON.stringify({ [requestedFields[0]!]: text }),
        JSON.stringify(requestedFields),
        JSON.stringify(answeredFields),
        answerSchemaId(KINDS[type]),
        answered ? answer : null,
        answered && answer !== CANCELLED && !key ? 1 : null,
        key ?? null,
      ],
    );
  }
}

/** A question that the assistant answered by itself, or whose answer it almost knew. */
const RECOGNISED = { documentId: 1, score: 0.9, at: new Date(`${day}T14:00:00.000Z`) };
const MERCHANT_ID = 1 as MerchantId;

/** As the old program did. */
async function recogniseAsBefore(database: Database): Promise<void> {
  for (const kind of ['known', 'known', 'asked']) {
    await database.run(
      `insert into recognitions (merchant_id, kind, question, document_id, score, created_at)
        values ($1, $2, 'When do you open?', $3, $4, $5)`,
      [MERCHANT_ID, kind, RECOGNISED.documentId, RECOGNISED.score, RECOGNISED.at.toISOString()],
    );
  }
}

const recognise = (database: Database) =>
  database.transaction(async (tx) => {
    const question = 'When do you open?';
    for (const _ of [1, 2]) await recordKnown(tx, MERCHANT_ID, { ...RECOGNISED, question });
    await recordAsked(tx, MERCHANT_ID, { ...RECOGNISED, notificationId: 1 });
  });

const countsOf = async (database: Database) => ({
  quarters: await database.all(
    `select at, notification_type, asked, answered, resolved from statistics_quarters
      where asked <> 0 or answered <> 0 or resolved <> 0 order by at, notification_type`,
  ),
  // The numbers of what the assistant answered only spread the rows.
  days: await database.all(
    `select day, what, case what when 'known' then 0 else number end as number, sum(count) as count from statistics_days
      group by 1, 2, 3 order by 1, 2, 3`,
  ),
});

onEachEngine('the inbox of a database from before the upgrade', (engine) => {
  let testDatabase: TestDatabase;
  let deskbell: Deskbell;
  let token: string;
  before(async () => {
    testDatabase = await createTestDatabase(engine);
    const database = await openDatabase(readConfig(testDatabase.env), 'serve');
    await migrateAsBefore(database);
    await fillShop(database);
    await fillNotifications(database);
    await recogniseAsBefore(database);
    await database.close();
    deskbell = await startDeskbell(engine, {}, testDatabase);
    token = await deskbell.signIn();
  });
  after(async () => {
    await deskbell?.close();
    await testDatabase?.remove();
  });
  const read = async (path: string) => {
    const reply = await deskbell.call('GET', path, { token });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };

  it('has its questions in the right tabs', async () => {
    const counts: Record<string, { count: number }> = await read('/api/v1/inbox/counts');
    const found = Object.entries(counts).map(([tab, { count }]) => [tab, count]);
    assert.deepEqual(Object.fromEntries(found), { open: 1, attention: 0, answered: 5, resolved: 2, all: 8 });
  });

  it('finds them by their words at once, and still when they are in the index', async () => {
    const search = async () => (await read('/api/v1/inbox?tab=all&q=decaf')).items.length;
    assert.equal(await search(), 1);
    await deskbell.clock.advance(60);
    assert.equal(await search(), 1);
  });

  it('has the overview as if its answers had been counted when they were given', async () => {
    const migrated = await countsOf(deskbell.database);
    assert.ok(migrated.quarters.length > 5 && migrated.days.length > 4);
    const fresh = await createTestDatabase(engine);
    const database = await openDatabase(readConfig(fresh.env), 'serve');
    await migrate(database, () => new Date());
    await fillShop(database);
    await fillNotifications(database);
    await recognise(database);
    assert.deepEqual(migrated, await countsOf(database));
    await database.close();
    await fresh.remove();
  });

  it('can be answered with an undo, and a question that was resolved can be reopened', async () => {
    const { items } = await read('/api/v1/inbox?tab=open');
    const path = `/api/v1/notification/${items[0].id}`;
    const body = { answer: 'Yes.', undo_seconds: 30 };
    assert.equal((await deskbell.call('POST', `${path}/answer`, { token, body })).status, 200);
    assert.equal((await deskbell.call('POST', `${path}/reopen`, { token })).status, 200);
    const { items: resolved } = await read('/api/v1/inbox?tab=resolved&q=spam');
    const old = `/api/v1/notification/${resolved[0].id}`;
    assert.equal((await deskbell.call('POST', `${old}/reopen`, { token })).status, 200);
    assert.equal((await read(old)).status, 'requested');
  });
});
