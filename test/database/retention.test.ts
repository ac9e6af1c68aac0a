import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { cleanUp } from '../../src/cleanUp.ts';
import { readConfig } from '../../src/config.ts';
import { expiringMessages } from '../../src/conversations/messages.ts';
import type { Database, Param } from '../../src/database/database.ts';
import { removeExpired } from '../../src/database/expiry.ts';
import { createLogger } from '../../src/log.ts';
import {
  type Deskbell,
  directUrl,
  idsOf,
  onEachEngine,
  raise,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';
import { watchedWrites } from '../support/watchedWrites.ts';

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
    const token = await deskbell.signIn();
    const call = (method: string, path: string, body?: object) =>
      deskbell.call(method, `/api/v1${path}`, { token, ...(body ? { body } : {}) });
    const [pending, answered, waiting] = [
      await raise(deskbell, token),
      await raise(deskbell, token),
      await raise(deskbell, token),
    ].map((address) => Number(address.split('/').at(-1)));
    await call('POST', `/notification/${answered}/answer`, { answer: 'Yes.' });
    await deskbell.allSent();
    await call('POST', `/notification/${waiting}/answer`, { answer: 'Later.' });
    await deskbell.allSent();
    const { database } = deskbell;
    await database.run(
      `update deliveries set state = 'waiting', waiting_for = 'customer', due_at = '9999'
      where notification_id = $1`,
      [waiting!],
    );
    await database.run(
      `insert into reached_customers (merchant_id, recipient, reached_at, delivery_key) values (1, '+34600000001', $1, 'k')`,
      [deskbell.clock.now().toISOString()],
    );
    const listed = async () => idsOf(await call('GET', '/notification/'));
    const sent = async () =>
      (await call('GET', '/delivery/')).json.map((one: { notification_id: number }) => one.notification_id);
    const weeks = async () => (await call('GET', '/overview')).json.weeks;
    const reached = () => database.all('select recipient from reached_customers');
    const before = { listed: await listed(), sent: await sent(), weeks: await weeks() };

    // By default both are kept for ever.
    await cleanUpAfter(300, { messages: 0, audit: 0 });
    assert.deepEqual([await listed(), await sent()], [before.listed, before.sent]);
    assert.deepEqual(await reached(), []);
    await cleanUpAfter(20, { notifications: 30, deliveries: 30 });
    assert.deepEqual([await listed(), await sent()], [before.listed, before.sent]);
    await cleanUpAfter(31, { notifications: 30, deliveries: 30 });
    const after = await listed();
    assert.ok(
      after.includes(pending!) && after.includes(waiting!) && !after.includes(answered!),
      String(after),
    );
    assert.deepEqual(await sent(), [waiting]);
    const orphans = await database.all(
      'select e.id from delivery_events e left join deliveries d on d.id = e.delivery_id where d.id is null',
    );
    assert.deepEqual(orphans, []);
    assert.deepEqual(await weeks(), before.weeks);
    // An id is never used again.
    const next = Number((await raise(deskbell, token)).split('/').at(-1));
    assert.ok(next > waiting!);
  });

  it('is removed together with what it counted, whenever the process ends', async () => {
    const token = await deskbell.signIn();
    const { database } = deskbell;
    const bytes = async () =>
      (await database.one<{ bytes: number }>('select bytes from conversation_storage where merchant_id = 1'))!
        .bytes;
    const before = await bytes();
    // Not to the customer whose other message waits.
    const other = await database.one<{ id: number }>(
      `select id from conversations where merchant_id = 1 and customer_phone is not null
        and id not in (select conversation_id from deliveries where merchant_id = 1) order by id limit 1`,
    );
    const { status } = await deskbell.call('POST', `/api/v1/conversation/${other!.id}/send`, {
      token,
      body: { text: 'Your order is ready.' },
    });
    assert.equal(status, 200);
    await deskbell.allSent();
    const sent = await bytes();
    assert.ok(sent > before);
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
    const left = await database.all(
      'select id, state, created_at, notification_id from deliveries where merchant_id = 1',
    );
    assert.equal(await bytes(), before, JSON.stringify({ sent, left }));
  });

  it('is removed in batches, between which others have their turn', async () => {
    const { database } = deskbell;
    const old = deskbell.clock.now().toISOString();
    const batches = 3;
    await database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${batches * 1000})
        insert into sign_in_failures (account, address, failed_at) select concat('customer ', i), '192.0.2.1', $1 from n`,
      [old],
    );
    let turns = 0;
    let counting = true;
    const count = () => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    await cleanUpAfter(31, {});
    counting = false;
    assert.deepEqual(await database.all('select 1 from sign_in_failures'), []);
    assert.ok(turns >= batches, `${turns} turns`);
  });

  it('is kept as long as the settings say, by their new and their older names', () => {
    const keptWith = (env: Record<string, string>) => readConfig(env).retentionDays;
    assert.deepEqual(keptWith({}), {
      ...{ notifications: 0, deliveries: 0, messages: 365, events: 30, audit: 365, sessions: 1 },
    });
    const older = keptWith({ AUDIT_RETENTION_DAYS: '7', MESSAGE_RETENTION_DAYS: '8' });
    assert.deepEqual([older.audit, older.messages], [7, 8]);
    const both = keptWith({ AUDIT_RETENTION_DAYS: '7', RETENTION_AUDIT_DAYS: '0' });
    assert.equal(both.audit, 0);
  });
});

/** Expired rows, and current ones, that each table gets. */
const EXPIRED_ROWS = 1500;
const CURRENT_ROWS = 500;
/** More than a few batches. */
const MANY = { table: 'inbound_updates', expired: 3500 };
/** For each table: which column identifies the rows, and the i-th row with the time `$1`. */
const TABLES: Record<string, { name: string; columns: string; values: string }> = {
  sessions: {
    ...{ name: 'id', columns: 'id, user_id, created_at, expires_at' },
    values: `concat('clean-up ', i), 1, $1, $1`,
  },
  revocations: {
    ...{ name: 'session_id', columns: 'session_id, user_id, revoked_at' },
    values: `concat('clean-up ', i), 1, $1`,
  },
  sign_in_failures: {
    ...{ name: 'account', columns: 'account, address, failed_at' },
    values: `concat('clean-up ', i), '192.0.2.1', $1`,
  },
  sign_in_places: {
    ...{ name: 'place', columns: 'user_id, place, last_at' },
    values: `1, concat('clean-up ', i), $1`,
  },
  used_challenges: { name: 'id', columns: 'id, expires_at', values: `concat('clean-up ', i), $1` },
  idempotency_keys: {
    ...{ name: 'key', columns: 'merchant_id, key, fingerprint, outcome, created_at' },
    values: `1, concat('clean-up ', i), '-', '{}', $1`,
  },
  audit_events: {
    ...{ name: 'name', columns: 'merchant_id, at, last_at, what, actor, name, about' },
    values: `1, $1, $1, 'user.added', 'server', concat('clean-up ', i), '{}'`,
  },
  inbound_updates: {
    ...{ name: 'id', columns: 'id, channel_id, payload, received_at, done_at' },
    values: `concat('clean-up ', i), 'whatsapp:1', '{}', $1, $1`,
  },
  customer_windows: {
    ...{ name: 'phone', columns: 'channel_id, phone, opened_at' },
    values: `'whatsapp:1', concat('clean-up ', i), $1`,
  },
};

onEachEngine('clean-up', (engine) => {
  let deskbell: Deskbell;
  before(async () => {
    deskbell = await startDeskbell(engine, { WORKER: 'false', AUDIT_RETENTION_DAYS: '7' });
    for (const table of Object.keys(TABLES)) {
      const expired = table === MANY.table ? MANY.expired : EXPIRED_ROWS;
      await fill(table, 0, expired, -200 * DAY_MS);
      await fill(table, expired, CURRENT_ROWS, DAY_MS);
    }
  });
  after(() => deskbell?.close());

  async function fill(table: string, from: number, count: number, ageMs: number): Promise<void> {
    const { columns, values } = TABLES[table]!;
    const time = new Date(deskbell.clock.now().getTime() + ageMs).toISOString();
    await deskbell.database.run(
      `with recursive n (i) as (select ${from + 1} union all select i + 1 from n where i < ${from + count})
        insert into ${table} (${columns}) select ${values} from n`,
      [time],
    );
  }
  const countOf = async (table: string) =>
    (await deskbell.database.one<{ count: number }>(
      `select count(*) as count from ${table} where ${TABLES[table]!.name} like 'clean-up %'`,
    ))!.count;
  const deletes: { sql: string; deleted: number }[] = [];
  const logged: string[] = [];
  /** The server does this every ten minutes. */
  async function clean(afterBatch = async () => {}): Promise<void> {
    const { database, config, clock } = deskbell;
    const recording = {
      ...database,
      async run<Row>(sql: string, params: readonly Param[] = []) {
        const rows = await database.run<Row>(sql, params);
        deletes.push({ sql, deleted: rows.length });
        await afterBatch();
        return rows;
      },
    };
    const log = createLogger({ logLevel: 'warn', logPretty: false }, { write: (line) => logged.push(line) });
    await cleanUp(recording, config, log, clock.now());
  }

  it('continues with the other tables if one fails', async () => {
    await withoutTable('idempotency_keys', () => clean());
    assert.equal(logged.filter((line) => line.includes('"table":"idempotency_keys"')).length, 1, `${logged}`);
    assert.equal(logged.length, 1);
    // PostgreSQL may still run the one batch that was abandoned.
    assert.ok((await countOf('idempotency_keys')) >= EXPIRED_ROWS + CURRENT_ROWS - 1000);
    for (const table of Object.keys(TABLES)) {
      if (table !== 'idempotency_keys') assert.equal(await countOf(table), CURRENT_ROWS, table);
    }
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
      .filter(({ sql }) => sql.includes(`from ${MANY.table}`))
      .map(({ deleted }) => deleted);
    assert.equal(Math.max(...sizes), 1000);
    assert.equal(
      sizes.reduce((sum, size) => sum + size),
      MANY.expired,
    );
    await clean();
    assert.equal(logged.length, 1, logged.join(''));
    assert.equal(await countOf('idempotency_keys'), CURRENT_ROWS);
  });

  it('lets other requests write between its batches', async () => {
    await fill(MANY.table, 300_000, 3000, -30 * DAY_MS);
    const token = await deskbell.signIn();
    let raised = 0;
    await clean(async () => {
      // Throws unless the response is 200. It would wait for ever for a lock that the clean-up keeps.
      await raise(deskbell, token);
      raised += 1;
    });
    assert.ok(raised > 3, `${raised}`);
    assert.equal(await countOf(MANY.table), CURRENT_ROWS);
  });

  it('counts less for all merchants of a batch with one statement, so that none waits for the others', async () => {
    const { database, clock } = deskbell;
    const merchants = 60;
    const at = new Date(clock.now().getTime() - 200 * DAY_MS).toISOString();
    const numbers = `with recursive n (i) as (select 1000 union all select i + 1 from n where i < ${999 + merchants})`;
    for (const insert of [
      `insert into merchants (id, name, created_at) ${engine === 'sqlite' ? '' : 'overriding system value'}
        select i, 'Shop', $1 from n where true`,
      `insert into conversations (merchant_id, customer_name, customer_phone, created_at, updated_at)
        select i, 'Ana', '', $1, $1 from n where true`,
      `insert into conversation_messages (merchant_id, conversation_id, sender, text, at, created_at)
        select c.merchant_id, c.id, 'customer', 'Hello', $1, $1 from n join conversations c on c.merchant_id = i`,
      `insert into conversation_storage (merchant_id, bytes) select i, cast($1 as bigint) from n where true`,
    ])
      await database.run(`${numbers} ${insert}`, insert.includes('bytes') ? [705] : [at]);
    const counted: string[] = [];
    const recording = watchedWrites(database, (sql) => {
      if (sql.includes('conversation_storage')) counted.push(sql);
    });
    assert.equal(await removeExpired(recording, expiringMessages(100), clock.now()), merchants);
    assert.equal(counted.length, 1);
    const left = await database.all<{ bytes: number }>(
      'select distinct bytes from conversation_storage where merchant_id >= 1000',
    );
    assert.deepEqual(
      left.map(({ bytes }) => bytes),
      [500],
    );
  });
});
