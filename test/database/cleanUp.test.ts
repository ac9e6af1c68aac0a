import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { cleanUp } from '../../src/cleanUp.ts';
import { expiringMessages } from '../../src/conversations/messages.ts';
import type { Param } from '../../src/database/database.ts';
import { removeExpired } from '../../src/database/expiry.ts';
import { createLogger } from '../../src/log.ts';
import { type Deskbell, directUrl, onEachEngine, raise, startDeskbell } from '../support/server.ts';
import { watchedWrites } from '../support/watchedWrites.ts';

const CURRENT_ROWS = 5000;
const INSERTED_AT_ONCE = 2500;
const DAY_MS = 24 * 60 * 60_000;

/** How many expired rows each table gets, which column identifies them, and the i-th row with the time `$1`. */
const TABLES: Record<string, { expired: number; name: string; columns: string; values: string }> = {
  sessions: {
    expired: 5000,
    name: 'id',
    columns: 'id, user_id, created_at, expires_at',
    values: `concat('clean-up ', i), 1, $1, $1`,
  },
  revocations: {
    expired: 5000,
    name: 'session_id',
    columns: 'session_id, user_id, revoked_at',
    values: `concat('clean-up ', i), 1, $1`,
  },
  sign_in_failures: {
    expired: 5000,
    name: 'account',
    columns: 'account, address, failed_at',
    values: `concat('clean-up ', i), '192.0.2.1', $1`,
  },
  sign_in_places: {
    expired: 5000,
    name: 'place',
    columns: 'user_id, place, last_at',
    values: `1, concat('clean-up ', i), $1`,
  },
  used_challenges: {
    expired: 5000,
    name: 'id',
    columns: 'id, expires_at',
    values: `concat('clean-up ', i), $1`,
  },
  idempotency_keys: {
    expired: 5000,
    name: 'key',
    columns: 'merchant_id, key, fingerprint, outcome, created_at',
    values: `1, concat('clean-up ', i), '-', '{}', $1`,
  },
  audit_events: {
    expired: 5000,
    name: 'name',
    columns: 'merchant_id, at, last_at, what, actor, name, about',
    values: `1, $1, $1, 'user.added', 'server', concat('clean-up ', i), '{}'`,
  },
  inbound_updates: {
    expired: 20_000,
    name: 'id',
    columns: 'id, channel_id, payload, received_at, done_at',
    values: `concat('clean-up ', i), 'whatsapp:1', '{}', $1, $1`,
  },
  customer_windows: {
    expired: 5000,
    name: 'phone',
    columns: 'channel_id, phone, opened_at',
    values: `'whatsapp:1', concat('clean-up ', i), $1`,
  },
};

onEachEngine('clean-up', (engine) => {
  let deskbell: Deskbell;
  before(async () => {
    deskbell = await startDeskbell(engine, { WORKER: 'false', AUDIT_RETENTION_DAYS: '7' });
    for (const [table, { expired }] of Object.entries(TABLES)) {
      await fill(table, 0, expired, -200 * DAY_MS);
      await fill(table, expired, CURRENT_ROWS, DAY_MS);
    }
  });
  after(() => deskbell?.close());

  /** In parts, because a statement must not take longer than the time-out. */
  async function fill(table: string, from: number, count: number, ageMs: number): Promise<void> {
    const { columns, values } = TABLES[table]!;
    const time = new Date(deskbell.clock.now().getTime() + ageMs).toISOString();
    for (let first = from + 1; first <= from + count; first += INSERTED_AT_ONCE) {
      const last = Math.min(first + INSERTED_AT_ONCE - 1, from + count);
      await deskbell.database.run(
        `with recursive n (i) as (select ${first} union all select i + 1 from n where i < ${last})
          insert into ${table} (${columns}) select ${values} from n`,
        [time],
      );
    }
  }
  const countOf = async (table: string) =>
    (await deskbell.database.one<{ count: number }>(
      `select count(*) as count from ${table} where ${TABLES[table]!.name} like 'clean-up %'`,
    ))!.count;
  const deletes: { sql: string; params: readonly Param[]; deleted: number }[] = [];
  const logged: string[] = [];
  /** The server does this every ten minutes. */
  async function clean(afterBatch = async () => {}): Promise<void> {
    const { database, config, clock } = deskbell;
    const recording = {
      ...database,
      async run<Row>(sql: string, params: readonly Param[] = []) {
        const rows = await database.run<Row>(sql, params);
        deletes.push({ sql, params, deleted: rows.length });
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
    assert.ok((await countOf('idempotency_keys')) >= TABLES.idempotency_keys!.expired + CURRENT_ROWS - 1000);
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

  it('removes 20,000 expired rows in batches of 1,000, and the rest in the next run', async () => {
    const sizes = deletes
      .filter(({ sql }) => sql.includes('from inbound_updates'))
      .map(({ deleted }) => deleted);
    assert.equal(Math.max(...sizes), 1000);
    assert.equal(
      sizes.reduce((sum, size) => sum + size),
      20_000,
    );
    await clean();
    assert.equal(logged.length, 1, logged.join(''));
    assert.equal(await countOf('idempotency_keys'), CURRENT_ROWS);
  });

  it('lets other requests write between its batches', async () => {
    await fill('inbound_updates', 300_000, 3000, -30 * DAY_MS);
    const token = await deskbell.signIn();
    let raised = 0;
    await clean(async () => {
      // Throws unless the response is 200. It would wait for ever for a lock that the clean-up keeps.
      await raise(deskbell, token);
      raised += 1;
    });
    assert.ok(raised > 3, `${raised}`);
    assert.equal(await countOf('inbound_updates'), CURRENT_ROWS);
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

  it('finds expired rows by an index', async () => {
    const { database } = deskbell;
    for (const table of Object.keys(TABLES)) {
      await database.run(`analyze ${table}`);
      const { sql, params } = deletes.find((one) => one.sql.includes(`delete from ${table} `))!;
      const lines = await database.all<Record<string, string>>(
        `explain ${engine === 'sqlite' ? 'query plan' : ''} ${sql}`,
        params,
      );
      const plan = lines.map((line) => line.detail ?? line['QUERY PLAN']).join('\n');
      assert.match(plan, /Index (Only )?Scan|Bitmap Index Scan|USING (COVERING )?INDEX/, plan);
      assert.doesNotMatch(plan, /Seq Scan|SCAN/, plan);
    }
  });

  it('finds a delivery’s events by an index', { skip: engine !== 'postgres' }, async () => {
    const keys = await deskbell.database.all<{ columns: string }>(
      `select pg_get_constraintdef(oid) as columns from pg_constraint
        where conrelid = 'delivery_events'::regclass and contype = 'p'`,
    );
    assert.deepEqual(
      keys.map(({ columns }) => columns),
      ['PRIMARY KEY (merchant_id, delivery_id, id)'],
    );
  });
});
