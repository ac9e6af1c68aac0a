import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Param } from '../../../src/database/database.ts';
import { claimOf } from '../../../src/delivery/queue/claim.ts';
import { DELIVERIES } from '../../../src/delivery/queue/enqueue.ts';
import { onEachEngine, useDeskbell } from '../../support/server.ts';
import { AURORA_ID, openShop, phoneOf, putAll, range, type Shop, until } from '../../support/shops.ts';

const BLOCKED = 2000;
const NEVER = '9999-12-31T00:00:00.000Z';

interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** Rows that scans read, including those that a filter removed. */
const scannedRows = (node: PlanNode): number =>
  (node['Node Type'].includes('Scan')
    ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    : 0) + (node.Plans ?? []).reduce((sum, child) => sum + scannedRows(child), 0);

onEachEngine(`a claim with ${BLOCKED} blocked messages in the queue`, (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });

  const put = async (recipient: string) =>
    (await putAll(deskbell, [{ merchantId: AURORA_ID, recipient }]))[0]!;
  /** Claims a new message, and returns the plans of the statements that look for it. */
  async function plansOfClaim(recipient: string): Promise<PlanNode[] | string[]> {
    const { database, clock } = deskbell;
    const id = await put(recipient);
    // biome-ignore lint/suspicious/noExplicitAny: each engine describes its plans in its own way
    const plans: any[] = [];
    const explain = engine === 'postgres' ? 'explain (analyze, format json)' : 'explain query plan';
    const explained = {
      ...database,
      async all<Row>(sql: string, params: readonly Param[] = []) {
        plans.push(...(await database.all(`${explain} ${sql}`, params)));
        return database.all<Row>(sql, params);
      },
    };
    const at = clock.now();
    const { claimed, left } = await claimOf(
      explained,
      { merchant_id: AURORA_ID, endpoint_id: 0 },
      {
        ...{ channelId: 'simulator', reportsStatus: () => false, max: 4, campaignsMax: 3, at },
        leaseUntil: new Date(at.getTime() + 20_000),
      },
    );
    assert.deepEqual([claimed.map((one) => one.id), left], [[id], 'none']);
    await database.run(`update deliveries set state = 'sent' where id = $1`, [id]);
    return plans.map((row) => (engine === 'postgres' ? row['QUERY PLAN'][0].Plan : row.detail));
  }

  it('reads no more rows than without them, and the first one is due when the one before it is finished', async () => {
    const { database, clock } = deskbell;
    const head = await put(phoneOf(1));
    const inAnHour = new Date(clock.now().getTime() + 3_600_000).toISOString();
    await database.run(
      `update deliveries set state = 'waiting', waiting_for = 'limit', due_at = $2 where id = $1`,
      [head, inAnHour],
    );
    const rowsOf = (plans: PlanNode[]) => plans.reduce((sum, plan) => sum + scannedRows(plan), 0);
    const alone = await plansOfClaim(phoneOf(2));
    await database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${BLOCKED})
        insert into deliveries (merchant_id, key, notification_id, conversation_id, context, recipient, mode,
          content, due_at, created_at, updated_at)
        select 1, concat('blocked ', i), 1, 1, '{}', $1, 'reply', 'Later.', '${NEVER}', $2, $2 from n`,
      [phoneOf(1), clock.now().toISOString()],
    );
    await database.run('analyze deliveries');
    const beside = await plansOfClaim(phoneOf(3));
    if (engine === 'postgres') {
      const [few, many] = [rowsOf(alone as PlanNode[]), rowsOf(beside as PlanNode[])];
      assert.ok(many <= few, `${many} rows instead of ${few}`);
    } else {
      const due = (beside as string[]).filter((line) =>
        /INDEX deliveries_due \(merchant_id=\? AND endpoint_id=\? AND mode=\? AND due_at[<>]/.test(line),
      );
      assert.equal(due.length, 4, beside.join('\n'));
    }

    const token = await deskbell.signIn();
    const { status } = await deskbell.call('POST', `/api/v1/delivery/${head}/cancel`, { token });
    assert.equal(status, 200);
    const found = await database.all<{ key: string }>(
      `select key from deliveries where state = 'queued' and due_at <= $1`,
      [clock.now().toISOString()],
    );
    assert.deepEqual(
      found.map(({ key }) => key),
      ['blocked 1'],
    );
  });
});

onEachEngine('a hundred messages', (engine) => {
  const deskbell = useDeskbell(engine);
  let shop: Shop;
  before(async () => {
    shop = await openShop(deskbell, AURORA_ID);
  });
  after(() => shop?.receiver.close());

  it('need at most one claim every 10 ms, and their outcomes are written in batches', async () => {
    const { database } = deskbell;
    const { all, transaction } = database;
    let claims = 0;
    let outcomeWrites = 0;
    database.all = (sql, params) => {
      if (sql.includes('left join (select * from')) claims += 1;
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
      range(0, 100).map((n) => ({ merchantId: AURORA_ID, recipient: phoneOf(n) })),
    );
    // Many wake-up signals, like those of many answers.
    const waking = setInterval(() => database.signal(DELIVERIES), 1);
    await until('all have arrived', () => shop.receiver.received.length === 100, 120_000);
    // Before it can be idle: on a slow machine the next signal comes within every claim.
    clearInterval(waking);
    await deskbell.allSent();
    const tookMs = performance.now() - startedAt;
    Object.assign(database, { all, transaction });
    // A timer may be a millisecond early.
    const claimsMax = tookMs / 9 + 1;
    assert.ok(claims > 0 && claims <= claimsMax, `${claims} claims in ${tookMs} ms`);
    // The embedded database puts several transactions into one commit instead.
    if (engine === 'postgres') assert.ok(outcomeWrites > 0 && outcomeWrites < 100, `${outcomeWrites} writes`);
  });
});
