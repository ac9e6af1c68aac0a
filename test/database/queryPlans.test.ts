import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { databaseFile } from '../../src/database/sqliteFolder.ts';
import { SEALED } from '../../src/reseal.ts';
import { fill } from '../support/plans/fill.ts';
import { importFiles, leaveRows } from '../support/plans/rows.ts';
import { hasPlan, type Planner, postgresPlanner, sqlitePlanner } from '../support/plans/scans.ts';
import { startRecording, stopRecording } from '../support/plans/statements.ts';
import { useVectors } from '../support/plans/vectors.ts';
import { useEverything } from '../support/plans/workload.ts';
import { onEachEngine, useDeskbell } from '../support/server.ts';

/** With far fewer rows, PostgreSQL reads all rows of a merchant, because that is cheaper. */
const ROWS = 400;
const STATEMENTS_MIN = 60;

/** Statements that may read all rows of a merchant or of an index, and the reason. */
const ALLOWED: readonly { statement: RegExp; why: string }[] = [
  {
    statement:
      /^with page as \(select id, concat\(.*from notifications where merchant_id = .1 (and status = '\w+' )?(and notification_type in \S+ )?order by/,
    why: 'without a limit the inbox is a complete list; with a filter by type it reads until the page is full',
  },
  {
    statement:
      /^select [\w, ]+ from (documents|conversations|audit_events) where merchant_id = .1 (and erased_at is null )?order by [\w, ]+ desc limit .2$/,
    why: 'the first page, in the order of its index',
  },
  {
    statement:
      /^select \(select count\(\*\) from \(select 1 from (documents|answered_questions) where merchant_id = .1 limit 300\)/,
    why: 'counts up to 300',
  },
  {
    statement:
      /^select n.id, case when n.answer .* from notifications n where .* order by n.id desc limit 1000$/,
    why: 'the newest thousand, in the order of their index',
  },
  {
    statement: /^select id, name from users where merchant_id = .1 .*limit 1000$/,
    why: 'at most a thousand people of a merchant, by an index',
  },
  {
    statement: /from push_subscriptions (p .*)?where (p\.)?merchant_id = .1( and coalesce\(.*)?$/,
    why: 'at most 500 devices of a merchant, by an index',
  },
  {
    statement: /^update alert_settings set mail_due_at = .2 where merchant_id = .1/,
    why: 'a row for each person of a merchant, by an index',
  },
  {
    statement: /from alert_logs where merchant_id > .1 and .* limit .2$/,
    why: 'the first row of an index, for each merchant with alerts',
  },
  {
    statement:
      /from \( select created_at from notifications where merchant_id = .1 and status = 'requested' order by id desc limit 1000\) pending$/,
    why: 'at most a thousand rows of an index',
  },
  {
    statement:
      /^select id, (title|title, text|question, customer_key as key, conversation_id as of) from (knowledge_removals|saved_replies|recognitions) where merchant_id = .1/,
    why: 'at most some thousand rows of a merchant, by an index, when a customer is erased',
  },
  { statement: /^select seq from sqlite_sequence/, why: 'a row per table' },
  { statement: /^(select .*|delete )from signing_keys/, why: 'a row per key' },
  { statement: /from schema_migrations order by version$/, why: 'a row per migration, read by commands' },
  {
    statement: /^insert into conversations .* on conflict/,
    why: 'SQLite plans a search for orphaned notifications, and runs it only while a violation is deferred',
  },
  // Deliveries. What WhatsApp reports is not part of the workload yet.
  {
    statement:
      /^select id, nullif\(notification_id, 0\) .* from deliveries where merchant_id = .1 and endpoint_id = 0 order by id desc limit .\d$/,
    why: 'the first page, in the order of its index',
  },
  {
    statement: /from inbound_updates where done_at is null order by received_at limit/,
    why: 'a partial index of open rows',
  },
  {
    statement: /^select due_at from delivery_queues where .* order by due_at limit 1$/,
    why: 'the first row of its index',
  },
  {
    statement:
      /^select count\(\*\) as (open|waiting) from \( ?select 1 from (deliveries|asks) where .* limit \d+\) counted$/,
    why: 'metrics: counts what is open up to a limit, by a partial index',
  },
  {
    statement:
      /from delivery_queues q where q\.due_at <(= .1| '9999\S+' and q\.endpoint_id = 0) order by q\.due_at limit 1000$/,
    why: 'metrics: the first thousand of an index, and the first row of an index for each',
  },
  {
    statement:
      /^select min\(oldest\) as oldest from \( select coalesce\(.* from webhook_endpoints w where .* limit 5000\)/,
    why: 'metrics: the first rows of an index, for each endpoint',
  },
  {
    statement: /^select count\(\*\) as overdue from notifications where undo_until is not null and /,
    why: 'metrics: reads the answers that can be undone, by a partial index',
  },
  {
    statement: /from webhook_endpoints where (merchant_id = .1( order by id)?|stopped_at is not null)$/,
    why: 'at most ten of a merchant; a partial index of those that are stopped',
  },
  {
    statement: /from live_versions v left join vector_progress p/,
    why: 'a short row per merchant, of both',
  },
  { statement: /^select .* from saved_replies where merchant_id = .1/, why: 'at most 200 of a merchant' },
  { statement: /from channel_stops/, why: 'a row per stopped channel' },
  {
    statement: /^delete from (recognitions|knowledge_removals) .* desc limit 1 offset \d000\)$/,
    why: 'at most two thousand rows of an index, in the clean-up and once in 32 known answers or removals',
  },
  {
    statement: /^select seq from new_events where merchant_id = .1 order by seq limit \d+$/,
    why: 'the first rows of an index',
  },
  {
    statement:
      /^select count\(\*\) as rows, .* from notifications .* order by (updated_at desc, )?id desc limit [12]00\d\) newest$/,
    why: 'counts up to a limit, in the order of an index',
  },
  {
    statement:
      /^select cast\(seq as text\) as seq, .* from inbox_changes where merchant_id = .1 order by inbox_changes\.seq desc limit .2$/,
    why: 'the first rows of an index',
  },
  {
    statement: /exists \(select 1 from new_events e where e.merchant_id = m.id\)$/,
    why: 'the first row of an index, for each merchant',
  },
  {
    statement: /order by e\.seq limit 1 offset 1000\) as waiting/,
    why: 'at most a thousand rows of an index, for each merchant',
  },
  {
    statement: /from webhook_endpoints where enabled = 1 and .* limit .3$/,
    why: 'the first row of a partial index, for each endpoint',
  },
  {
    statement:
      /from machine_keys where merchant_id = .1 and revoked_at is null( order by id desc limit 100)?$/,
    why: 'at most 100 keys of a merchant, by a partial index',
  },
  {
    statement:
      /^select [\w, ]+ from users where merchant_id = .1 (and role = 'owner' .* limit 1|(and deleted_at is null )?order by id limit (1000|1 offset .2))$/,
    why: 'everybody in a team',
  },
  {
    statement: /^select due_at from mails where state = 'queued' order by due_at limit 1$/,
    why: 'the first row of its index',
  },
  {
    statement: /^insert into users .* on conflict/,
    why: 'SQLite plans a search for orphaned rows, and runs it only while a violation is deferred',
  },
  {
    statement:
      /^select [\w, ]+ from invites where merchant_id = .1 and expires_at > .2 order by id desc limit 50$/,
    why: 'at most 50 open invitations of a merchant; expired ones are removed',
  },
  {
    statement: /^select [\w, ]+ from background_changes where finished_at is null order by migration$/,
    why: 'one row per migration that has such a change',
  },
];

const isAllowed = (sql: string) => ALLOWED.some(({ statement }) => statement.test(sql));

onEachEngine('with many rows in the database', (engine) => {
  // A low limit makes most campaigns wait, so that the queue is never empty.
  const deskbell = useDeskbell(engine, { CHANNEL_DAILY_LIMIT: '20', PUSH_ALLOW_PRIVATE: 'true' });

  let planner: Planner;
  before(async () => {
    await leaveRows(deskbell, ROWS);
    await deskbell.allSent();
    await useVectors(deskbell, 'first');
    await fill(deskbell);
    // The copies of failed sign-ins would lock out this address.
    await deskbell.database.run(`update sign_in_failures set address = '192.0.2.1'`);
    const { databaseUrl, dataDir } = deskbell.config;
    planner =
      databaseUrl === undefined ? sqlitePlanner(databaseFile(dataDir)) : await postgresPlanner(databaseUrl);
  });
  after(() => planner?.close());

  it('no statement of a request, an import or the worker scans a table', async () => {
    startRecording();
    await useEverything(deskbell);
    await useVectors(deskbell, 'second');
    const recorded = [...stopRecording(), ...(await importFiles(deskbell, ROWS + 10))];
    const statements = recorded.filter(hasPlan);
    assert.ok(statements.length > STATEMENTS_MIN, `only ${statements.length} statements were seen`);
    for (const { table, column } of SEALED) {
      const reseals = new RegExp(`(select .*, ${column} as sealed from|update) ${table} `);
      assert.ok(
        statements.some(({ sql }) => reseals.test(sql)),
        `${table} is not encrypted again`,
      );
    }

    const found: string[] = [];
    for (const statement of statements) {
      const sql = statement.sql.replaceAll(/\s+/g, ' ');
      if (isAllowed(sql)) continue;
      for (const { table, how } of await planner.scansOf(statement)) found.push(`${table}: ${how}\n${sql}`);
    }
    assert.equal(found.length, 0, `\n${found.join('\n\n')}`);
  });

  it('a statement that scans a table is detected', async () => {
    const marks = engine === 'sqlite' ? ['?1', '?2'] : ['$1', '$2'];
    const scansOf = (condition: string) => {
      const sql = `select id from documents where ${condition}`;
      return planner.scansOf({
        sql: marks.reduce((text, mark, n) => text.replaceAll(`$${n + 1}`, mark), sql),
        params: [1, 'x'],
      });
    };
    for (const scanning of [
      'merchant_id = $1 and body = $2',
      'merchant_id = $1 and body = $2 order by updated_at desc, id desc limit 1',
      'id = $1 and body = $2 or title = $2',
    ]) {
      const tables = (await scansOf(scanning)).map(({ table }) => table);
      assert.deepEqual(new Set(tables), new Set(['documents']), scanning);
    }
    assert.deepEqual(
      await scansOf('merchant_id = $1 and title = $2 order by updated_at desc, id desc limit 1'),
      [],
    );
  });
});
