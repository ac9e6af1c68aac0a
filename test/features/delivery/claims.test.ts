import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Database, Param, Queries } from '../../../src/database/database.ts';
import { type Claimed, claimOf } from '../../../src/delivery/queue/claim.ts';
import { DELIVERIES } from '../../../src/delivery/queue/enqueue.ts';
import { settle } from '../../../src/delivery/queue/settle.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';
import { AURORA_ID, openShop, phoneOf, putAll, range, type Shop, until } from '../../support/shops.ts';

const BLOCKED = 5000;
const INSERTED_AT_ONCE = 1000;
/** For hundreds of messages on a busy machine. */
const SENT_MAX_MS = 120_000;
const NEVER = '9999-12-31T00:00:00.000Z';

/** The rows that the statements read: PostgreSQL counts them at run time, SQLite only has plans. */
interface Work {
  statements: number;
  rows: number;
  pages: number;
  plan: string[];
}

interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** Rows that scans read, including those that a filter removed. */
const scannedRows = (node: PlanNode): number =>
  (node['Node Type'].includes('Scan')
    ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    : 0) + (node.Plans ?? []).reduce((sum, child) => sum + scannedRows(child), 0);

/** Runs every statement of `queries` twice. The first run measures its cost and is rolled back. */
function measured<Q extends Queries>(database: Database, queries: Q, work: Work): Q {
  const explain = async (sql: string, params: readonly Param[]) => {
    work.statements += 1;
    if (database.engine === 'sqlite') {
      const lines = await database.all<{ detail: string }>(`explain query plan ${sql}`, params);
      work.plan.push(...lines.map(({ detail }) => detail));
      return;
    }
    const undo = new Error('only to measure');
    await database
      .transaction(async (tx) => {
        const [row] = await tx.all<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
          `explain (analyze, buffers, format json) ${sql}`,
          params,
        );
        const { Plan } = row!['QUERY PLAN'][0];
        work.rows += scannedRows(Plan);
        work.pages += Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'];
        throw undo;
      })
      .catch((error) => assert.equal(error, undo));
  };
  return {
    ...queries,
    async all(sql: string, params: readonly Param[] = []) {
      await explain(sql, params);
      return queries.all(sql, params);
    },
    async run(sql: string, params: readonly Param[] = []) {
      await explain(sql, params);
      return queries.run(sql, params);
    },
  };
}

onEachEngine(`a claim with ${BLOCKED} blocked messages in the queue`, (engine) => {
  let deskbell: Deskbell;
  before(async () => {
    deskbell = await startDeskbell(engine, { WORKER: 'false' });
  });
  after(() => deskbell?.close());

  const put = async (recipient: string) =>
    (await putAll(deskbell, [{ merchantId: AURORA_ID, recipient }]))[0]!;
  /** Enqueues a message for another customer and claims it. */
  async function claimOne(recipient: string): Promise<{ work: Work; claimed: Claimed }> {
    const { database, clock } = deskbell;
    const id = await put(recipient);
    const work: Work = { statements: 0, rows: 0, pages: 0, plan: [] };
    const at = clock.now();
    const queue = { merchant_id: AURORA_ID, endpoint_id: 0 };
    const { claimed, left } = await claimOf(measured(database, database, work), queue, {
      channelId: 'simulator',
      reportsStatus: () => false,
      max: 4,
      campaignsMax: 3,
      at,
      leaseUntil: new Date(at.getTime() + 20_000),
    });
    assert.deepEqual([claimed.map((one) => one.id), left], [[id], 'none']);
    return { work, claimed: claimed[0]! };
  }
  const finish = async (delivery: Claimed) => {
    const outcome = { delivery, settlement: { state: 'sent' } } as const;
    const at = deskbell.clock.now();
    await deskbell.database.transaction((tx) => settle(tx, AURORA_ID, [outcome], at));
  };

  it('reads no more rows than without them', async (t) => {
    const { database, clock } = deskbell;
    const head = await put(phoneOf(1));
    await database.run(
      `update deliveries set state = 'waiting', waiting_for = 'limit', due_at = $2 where id = $1`,
      [head, new Date(clock.now().getTime() + 3_600_000).toISOString()],
    );
    const alone = await claimOne(phoneOf(2));
    await finish(alone.claimed);
    // In pieces: a statement may take three seconds.
    for (let first = 1; first <= BLOCKED; first += INSERTED_AT_ONCE) {
      const last = first + INSERTED_AT_ONCE - 1;
      await database.run(
        `with recursive n (i) as (select ${first} union all select i + 1 from n where i < ${last})
          insert into deliveries (merchant_id, key, notification_id, conversation_id, context, recipient, mode,
            content, due_at, created_at, updated_at)
          select 1, concat('blocked ', i), 1, 1, '{}', $1, 'reply', 'Later.', '${NEVER}', $2, $2 from n`,
        [phoneOf(1), clock.now().toISOString()],
      );
    }
    await database.run('analyze deliveries');
    const beside = await claimOne(phoneOf(3));
    await finish(beside.claimed);

    assert.equal(beside.work.statements, alone.work.statements);
    if (engine === 'postgres') {
      const { rows, pages, statements } = beside.work;
      t.diagnostic(
        `${statements} statements touch ${rows} rows and ${pages} pages; without blocked ones ${alone.work.rows} and ${alone.work.pages}`,
      );
      assert.ok(rows <= alone.work.rows, `${rows} rows instead of ${alone.work.rows}`);
      // An index of this size has two levels more than an empty one; reading the blocked ones would take hundreds.
      assert.ok(pages <= alone.work.pages + 60, `${pages} pages instead of ${alone.work.pages}`);
    } else {
      const onDeliveries = beside.work.plan.filter((line) => /^(SCAN|SEARCH) (deliveries|[df])\b/.test(line));
      const due =
        /INDEX deliveries_due \(merchant_id=\? AND endpoint_id=\? AND mode=\? AND due_at[<>]\?( AND due_at<\?)?\)/;
      assert.equal(onDeliveries.filter((line) => due.test(line)).length, 4, onDeliveries.join('\n'));
      const byId = /\(merchant_id=\? AND recipient=\? AND mode=\?\)|rowid=\?|AND id=\?\)/;
      for (const line of onDeliveries) {
        // The scan reads only the due messages that the sub-select found, at most 32.
        assert.ok(due.test(line) || byId.test(line) || /^SCAN d\b/.test(line), line);
      }
    }
  });

  it('finds the next one when the first is finished', async () => {
    const { database, clock } = deskbell;
    const { id } = (await database.one<{ id: number }>(
      'select min(id) as id from deliveries where recipient = $1',
      [phoneOf(1)],
    ))!;
    const token = await deskbell.signIn();
    const cancelled = await deskbell.call('POST', `/api/v1/delivery/${id}/cancel`, { token });
    assert.equal(cancelled.status, 200, cancelled.text);
    const due = await database.all<{ key: string }>(
      `select key from deliveries where state = 'queued' and due_at <= $1`,
      [clock.now().toISOString()],
    );
    assert.deepEqual(
      due.map(({ key }) => key),
      ['blocked 1'],
    );
  });
});

onEachEngine('six hundred new messages to one customer', (engine) => {
  let deskbell: Deskbell;
  let busy: Shop;
  let other: Shop;
  before(async () => {
    deskbell = await startDeskbell(engine);
    busy = await openShop(deskbell, AURORA_ID);
    other = await openShop(deskbell);
  });
  after(async () => {
    await deskbell?.close();
    for (const shop of [busy, other]) await shop?.receiver.close();
  });

  it('are sent in order, and another merchant’s message does not wait for them', async (t) => {
    busy.receiver.answer = (response) => setTimeout(() => response.writeHead(204).end(), 20);
    await putAll(
      deskbell,
      range(0, 600).map((n) => ({ merchantId: busy.id, recipient: phoneOf(1), content: `${n}` })),
    );
    const startedAt = performance.now();
    await putAll(deskbell, [{ merchantId: other.id, recipient: phoneOf(1) }]);
    // Not those that were sent while a slow database stored it.
    const before = busy.receiver.received.length;
    await until('the other message arrives', () => other.receiver.received.length === 1);
    const overtook = busy.receiver.received.length - before;
    assert.ok(overtook < 200, `after ${overtook} of 600`);
    t.diagnostic(`the other merchant's message took ${(performance.now() - startedAt).toFixed(0)} ms`);
    await until('fifty have arrived', () => busy.receiver.received.length >= 50);
    // Sending the rest would only take time.
    const token = await deskbell.signIn();
    for (let more = true; more; ) {
      const reply = await deskbell.call('POST', '/api/v1/delivery/cancel', {
        token,
        body: { state: 'queued' },
      });
      assert.equal(reply.status, 200, reply.text);
      more = reply.json.more;
    }
    await deskbell.allSent();
    const numbers = busy.receiver.received.map(({ json }) => Number(json.data.content));
    assert.deepEqual(numbers.slice(0, 50), range(0, 50));
    // Between two calls to cancel, the next message may be sent.
    for (const [n, number] of numbers.entries()) assert.ok(n === 0 || number > numbers[n - 1]!);
    const left = await deskbell.database.all(
      `select id from deliveries where state not in ('sent', 'cancelled')`,
    );
    assert.deepEqual(left, []);
  });
});

onEachEngine('messages that become blocked while others finish', (engine) => {
  let testDatabase: TestDatabase;
  let receiver: Receiver;
  const all: Deskbell[] = [];
  before(async () => {
    testDatabase = await createDemoDatabase(engine, 'weak');
    receiver = await startReceiver();
    for (const _ of range(0, engine === 'postgres' ? 2 : 1)) {
      all.push(await startDeskbell(engine, webhookEnv(receiver), testDatabase));
    }
  });
  after(async () => {
    for (const deskbell of all) await deskbell.close();
    await receiver?.close();
    await testDatabase?.remove();
  });

  it('are all sent, each once and in order: none stays blocked', async () => {
    const rounds = 40;
    const seen = new Map<string, number[]>();
    receiver.answer = (response, { json }) => {
      const list = seen.get(json.data.recipient) ?? [];
      seen.set(json.data.recipient, list);
      list.push(Number(json.data.content));
      response.writeHead(204).end();
    };
    for (const round of range(0, rounds)) {
      const deskbell = all[round % all.length]!;
      // New messages come while earlier ones are being sent: to six customers, each in its own transaction.
      await Promise.all(
        range(0, 6).map((n) =>
          putAll(deskbell, [{ merchantId: AURORA_ID, recipient: phoneOf(n), content: `${round}` }]),
        ),
      );
    }
    const open = () =>
      all[0]!.database.all(`select id, state, due_at from deliveries where state <> 'sent' limit 5`);
    await until('all are sent', async () => (await open()).length === 0, SENT_MAX_MS).catch(async (error) => {
      assert.fail(`${error.message} ${JSON.stringify(await open())}`);
    });
    for (const n of range(0, 6)) assert.deepEqual(seen.get(phoneOf(n)), range(0, rounds));
  });
});

onEachEngine('two hundred messages', (engine) => {
  let deskbell: Deskbell;
  let shop: Shop;
  before(async () => {
    deskbell = await startDeskbell(engine);
    shop = await openShop(deskbell, AURORA_ID);
  });
  after(async () => {
    await deskbell?.close();
    await shop?.receiver.close();
  });

  it('need at most one claim every 10 ms, and their outcomes are written in batches', async (t) => {
    const { database } = deskbell;
    const { all, transaction } = database;
    let claims = 0;
    let reads = 0;
    let outcomeWrites = 0;
    database.all = (sql, params) => {
      // The first statement of a claim, and the query for a merchant's messages.
      if (sql.includes('from channel_stops where until')) claims += 1;
      if (sql.includes('left join (select * from')) reads += 1;
      return all(sql, params);
    };
    database.transaction = (work) =>
      transaction((tx) =>
        work({
          ...tx,
          chain(chain) {
            // Only the outcomes of attempts are written under this lock.
            if ('lock' in chain) outcomeWrites += 1;
            return tx.chain(chain);
          },
        }),
      );
    const startedAt = performance.now();
    await putAll(
      deskbell,
      range(0, 200).map((n) => ({ merchantId: AURORA_ID, recipient: phoneOf(n) })),
    );
    // Many wake-up signals, like those of many answers.
    const waking = setInterval(() => database.signal(DELIVERIES), 1);
    await until('all have arrived', () => shop.receiver.received.length === 200, SENT_MAX_MS);
    // Before it can be idle: on a slow machine the next signal comes within every claim.
    clearInterval(waking);
    await deskbell.allSent();
    const tookMs = performance.now() - startedAt;
    Object.assign(database, { all, transaction });
    t.diagnostic(
      `${engine}: ${claims} claims, ${reads} reads and ${outcomeWrites} writes of outcomes in ${tookMs.toFixed(0)} ms`,
    );
    // A timer may be a millisecond early.
    const claimsMax = tookMs / 9 + 1;
    assert.ok(claims > 0 && claims <= claimsMax, `${claims} claims in ${tookMs} ms`);
    assert.ok(reads > 0 && reads <= claimsMax, `${reads} reads in ${tookMs} ms`);
    // The embedded database puts several transactions into one commit instead.
    if (engine === 'postgres') {
      assert.ok(outcomeWrites > 0 && outcomeWrites < 200, `${outcomeWrites} writes for 200 messages`);
    }
  });
});
