import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { cleanUp } from '../../src/cleanUp.ts';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { createLogger } from '../../src/log.ts';
import { callsOf } from '../support/erasing.ts';
import {
  type Deskbell,
  directUrl,
  idsOf,
  onEachEngine,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';

const DAY_MS = 24 * 60 * 60_000;

onEachEngine('old data', (engine) => {
  const deskbell = useDeskbell(engine, { ACCESS_TOKEN_TTL_SECONDS: '86400' });
  const log = createLogger({ logLevel: 'silent', logPretty: false });
  const cleanUpAfter = (
    days: number,
    settings: Partial<typeof deskbell.config.retentionDays>,
    database = deskbell.database,
  ) => {
    const retentionDays = { ...deskbell.config.retentionDays, ...settings };
    const at = new Date(deskbell.clock.now().getTime() + days * DAY_MS);
    return cleanUp(database, { ...deskbell.config, retentionDays }, log, at);
  };

  it('is removed after its time, without what is pending, waits or is counted', async () => {
    const { ok, raise, answered } = callsOf(deskbell);
    const { database, clock } = deskbell;
    const question = { question: 'Do you have decaf beans?' };
    const pending = await raise(1, question);
    const sentId = await answered(1, question);
    // The time since the answer counts, not that since the question.
    await database.run(`update notifications set created_at = '2020-01-01T00:00:00.000Z' where id = $1`, [
      sentId,
    ]);
    await deskbell.allSent();
    const waiting = await answered(1, question);
    await deskbell.allSent();
    await database.run(
      `update deliveries set state = 'waiting', waiting_for = 'customer', due_at = '9999' where notification_id = $1`,
      [waiting],
    );
    await database.run(
      `insert into reached_customers (merchant_id, recipient, reached_at, delivery_key) values (1, '+34600000001', $1, 'k')`,
      [clock.now().toISOString()],
    );
    const listed = async () => idsOf(await ok('GET', '/notification/'));
    const sent = async (): Promise<number[]> =>
      (await ok('GET', '/delivery/')).json.map((one: { notification_id: number }) => one.notification_id);
    const weeks = async () => (await ok('GET', '/overview')).json.weeks;
    const before = { listed: await listed(), sent: await sent(), weeks: await weeks() };
    const stays = async () => assert.deepEqual([await listed(), await sent()], [before.listed, before.sent]);

    // By default both are kept for ever.
    await cleanUpAfter(300, { messages: 0, audit: 0 });
    await stays();
    assert.deepEqual(await database.all('select recipient from reached_customers'), []);
    await cleanUpAfter(20, { notifications: 30, deliveries: 30 });
    await stays();
    // What the server locks at that moment is left to the next run.
    await until('what is sent is gone', async () => {
      await cleanUpAfter(31, { notifications: 30, deliveries: 30 });
      return !(await listed()).includes(sentId) && (await sent()).length === 1;
    });
    const left = await listed();
    assert.ok(left.includes(pending) && left.includes(waiting), String(left));
    assert.deepEqual(await sent(), [waiting]);
    const orphans = await database.all(
      'select e.id from delivery_events e left join deliveries d on d.id = e.delivery_id where d.id is null',
    );
    assert.deepEqual(orphans, []);
    assert.deepEqual(await weeks(), before.weeks);
    assert.ok((await raise(1, question)) > waiting, 'an id is never used again');
  });

  it('is removed together with what it counted, whenever the process ends', async () => {
    const { ok, conversation } = callsOf(deskbell);
    const { database } = deskbell;
    const bytes = async () =>
      (await database.one<{ bytes: number }>('select bytes from conversation_storage where merchant_id = 1'))!
        .bytes;
    const id = await conversation('counted');
    const before = await bytes();
    await ok('POST', `/conversation/${id}/send`, { text: 'Your order is ready.' });
    await deskbell.allSent();
    assert.ok((await bytes()) > before);
    const settings = { deliveries: 30, messages: 0, audit: 0 };
    // As if the process ended there.
    const runOf =
      ({ run }: Pick<Database, 'run'>): Database['run'] =>
      async (sql, params) => {
        if (sql.includes('conversation_storage')) throw new Error('killed');
        return run(sql, params);
      };
    const dying: Database = {
      ...database,
      run: runOf(database),
      transaction: (work) => database.transaction((tx) => work({ ...tx, run: runOf(tx) })),
    };
    await cleanUpAfter(31, settings, dying);
    await cleanUpAfter(31, settings);
    assert.equal(await bytes(), before);
  });

  it('is kept as long as the settings say, by their new and their older names', () => {
    const keptWith = (env: Record<string, string>) => readConfig(env).retentionDays;
    assert.deepEqual(keptWith({}), {
      ...{ notifications: 0, deliveries: 0, messages: 365, events: 30, audit: 365, sessions: 1 },
    });
    const older = keptWith({ AUDIT_RETENTION_DAYS: '7', MESSAGE_RETENTION_DAYS: '8' });
    assert.deepEqual([older.audit, older.messages], [7, 8]);
    assert.equal(keptWith({ AUDIT_RETENTION_DAYS: '7', RETENTION_AUDIT_DAYS: '0' }).audit, 0);
  });
});

const CURRENT_ROWS = 10;
/** One table has more than a few batches. */
const EXPIRED_ROWS = { inbound_updates: 3500, others: 20 };
/** For each table: which column identifies the rows, all columns, and the i-th row with the time `$1`. */
const N = `concat('clean-up ', i)`;
const TABLES: Record<string, [name: string, columns: string, values: string]> = {
  sessions: ['id', 'id, user_id, created_at, expires_at', `${N}, 1, $1, $1`],
  revocations: ['session_id', 'session_id, user_id, revoked_at', `${N}, 1, $1`],
  sign_in_failures: ['account', 'account, address, failed_at', `${N}, '192.0.2.1', $1`],
  sign_in_places: ['place', 'user_id, place, last_at', `1, ${N}, $1`],
  used_challenges: ['id', 'id, expires_at', `${N}, $1`],
  idempotency_keys: ['key', 'merchant_id, key, fingerprint, outcome, created_at', `1, ${N}, '-', '{}', $1`],
  audit_events: [
    'name',
    'merchant_id, at, last_at, what, actor, name, about',
    `1, $1, $1, 'user.added', 'server', ${N}, '{}'`,
  ],
  inbound_updates: [
    'id',
    'id, channel_id, payload, received_at, done_at',
    `${N}, 'whatsapp:1', '{}', $1, $1`,
  ],
  customer_windows: ['phone', 'channel_id, phone, opened_at', `'whatsapp:1', ${N}, $1`],
};

onEachEngine('clean-up', (engine) => {
  let deskbell: Deskbell;
  before(async () => {
    deskbell = await startDeskbell(engine, { WORKER: 'false', AUDIT_RETENTION_DAYS: '7' });
    for (const table of Object.keys(TABLES)) {
      const expired = table === 'inbound_updates' ? EXPIRED_ROWS.inbound_updates : EXPIRED_ROWS.others;
      await fill(table, 0, expired, -200 * DAY_MS);
      await fill(table, expired, CURRENT_ROWS, DAY_MS);
    }
  });
  after(() => deskbell?.close());

  async function fill(table: string, from: number, count: number, ageMs: number): Promise<void> {
    const [, columns, values] = TABLES[table]!;
    const time = new Date(deskbell.clock.now().getTime() + ageMs).toISOString();
    await deskbell.database.run(
      `with recursive n (i) as (select ${from + 1} union all select i + 1 from n where i < ${from + count})
        insert into ${table} (${columns}) select ${values} from n`,
      [time],
    );
  }
  const countOf = async (table: string) =>
    (await deskbell.database.one<{ count: number }>(
      `select count(*) as count from ${table} where ${TABLES[table]![0]} like 'clean-up %'`,
    ))!.count;
  const deletes: { sql: string; deleted: number }[] = [];
  const logged: string[] = [];
  /** The server does this every ten minutes. */
  async function clean(afterBatch = async () => {}): Promise<void> {
    const { database, config, clock } = deskbell;
    const recording: Database = {
      ...database,
      async run<Row>(...call: Parameters<Database['run']>) {
        const rows = await database.run<Row>(...call);
        deletes.push({ sql: call[0], deleted: rows.length });
        await afterBatch();
        return rows;
      },
    };
    const log = createLogger({ logLevel: 'warn', logPretty: false }, { write: (line) => logged.push(line) });
    await cleanUp(recording, config, log, clock.now());
  }

  it('continues with the other tables if one fails', async () => {
    await withoutTable('idempotency_keys', () => clean());
    assert.equal(logged.length, 1, `${logged}`);
    assert.match(logged[0]!, /"table":"idempotency_keys"/);
    for (const table of Object.keys(TABLES))
      if (table !== 'idempotency_keys') assert.equal(await countOf(table), CURRENT_ROWS, table);
  });

  /** Makes the table unusable during `work`. */
  async function withoutTable(table: string, work: () => Promise<void>): Promise<void> {
    const { database, config } = deskbell;
    if (engine === 'sqlite') {
      await database.script(`alter table ${table} rename to away;`);
      await work().finally(() => database.script(`alter table away rename to ${table};`));
      return;
    }
    const client = new pg.Client(directUrl(config));
    await client.connect();
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    await work().finally(() => client.end());
  }

  it('removes expired rows in batches of 1,000, and the rest in the next run', async () => {
    const sizes = deletes
      .filter(({ sql }) => sql.includes('from inbound_updates'))
      .map(({ deleted }) => deleted);
    assert.equal(Math.max(...sizes), 1000);
    assert.equal(
      sizes.reduce((sum, size) => sum + size),
      EXPIRED_ROWS.inbound_updates,
    );
    await clean();
    assert.equal(logged.length, 1, logged.join(''));
    assert.equal(await countOf('idempotency_keys'), CURRENT_ROWS);
  });

  it('lets other requests write between its batches', async () => {
    await fill('inbound_updates', 300_000, 3000, -30 * DAY_MS);
    const { raise } = callsOf(deskbell);
    let raised = 0;
    await clean(async () => {
      // It would wait for ever for a lock that the clean-up keeps.
      await raise(1, { question: 'Is it open?' });
      raised += 1;
    });
    assert.ok(raised > 3, `${raised}`);
    assert.equal(await countOf('inbound_updates'), CURRENT_ROWS);
  });
});
