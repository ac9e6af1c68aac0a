import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { SERVER } from '../../src/audit/record.ts';
import { finishErasures } from '../../src/cli/erasure/erasures.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { Database } from '../../src/database/database.ts';
import { beginErasure } from '../../src/erasure/begin.ts';
import { beginDeletion, deleteSome } from '../../src/erasure/merchant.ts';
import { LEASE_MS, listDue, takeErasure } from '../../src/erasure/store.ts';
import { deleteMerchants, erasePeople } from '../../src/erasure/worker.ts';
import { startJobs } from '../../src/jobs/runner.ts';
import { createLogger } from '../../src/log.ts';
import { findDeleting } from '../../src/merchants/delete.ts';
import { findMerchant, insertMerchant } from '../../src/merchants/store.ts';
import { filesWith, tablesWith } from '../support/canaries.ts';
import { callsOf, WORDS } from '../support/erasing.ts';
import { BOREALIS, type Deskbell, onEachEngine, useDeskbell } from '../support/server.ts';
import { AURORA_ID, BOREALIS_ID, until } from '../support/shops.ts';

/** Makes the database refuse to delete these rows. Returns how to make it accept that again. */
async function refuse(database: Database, table: string, where: string): Promise<() => Promise<unknown>> {
  const name = `refuse_${table}`;
  if (database.engine === 'sqlite') {
    await database.run(
      `create trigger ${name} before delete on ${table} when ${where} begin select raise(abort, 'zqx is refused'); end`,
    );
    return () => database.run(`drop trigger ${name}`);
  }
  await database.run(
    `create function ${name}() returns trigger language plpgsql as $$
      begin if ${where} then raise exception 'zqx is refused'; end if; return old; end $$`,
  );
  await database.run(
    `create trigger ${name} before delete on ${table} for each row execute function ${name}()`,
  );
  return () => database.run(`drop trigger ${name} on ${table}`);
}

onEachEngine('erasures and deletions', (engine) => {
  // Without its worker: each test starts what it needs.
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  const logged: string[] = [];
  const channelsOf = async () => [];
  const start = ({ database, clock }: Deskbell) => {
    const parts = { database, channelsOf, now: clock.now };
    const log = createLogger({ logLevel: 'info', logPretty: false }, { write: (line) => logged.push(line) });
    return startJobs([erasePeople(parts), deleteMerchants(parts)], { ...parts, log });
  };
  const erasers: { stop(): Promise<void> }[] = [];
  after(() => Promise.all(erasers.map((eraser) => eraser.stop())));
  const by = () => ({ who: SERVER, at: deskbell.clock.now() });
  const newMerchant = async (name: string) =>
    (await insertMerchant(deskbell.database, name, deskbell.clock.now())).id as MerchantId;
  const eraseLater = (merchantId: MerchantId, id: number) =>
    deskbell.database.transaction((tx) => beginErasure(tx, merchantId, id, by()));
  const begin = (merchantId: MerchantId) =>
    deskbell.database.transaction((tx) => beginDeletion(tx, merchantId, by()));

  it('have turns: a merchant with many does not delay another one', async () => {
    const { database, clock } = deskbell;
    const [own, neighbour] = [callsOf(deskbell), callsOf(deskbell, BOREALIS)];
    for (const n of [1, 2, 3]) {
      const id = await own.conversation(`turn-${n}`, `+3461100101${n}`, `Turn ${n}`);
      await eraseLater(AURORA_ID, id);
    }
    clock.jump(1);
    const id = await neighbour.conversation('turn', '+34611001020', 'Turn Last');
    await eraseLater(BOREALIS_ID, id);
    const at = clock.now();
    const lease = { at, leaseUntil: new Date(at.getTime() + 1) };
    const due = async (after = 0) => (await listDue(database, at, after)).map((row) => row.merchant_id);
    assert.deepEqual(await due(), [AURORA_ID, AURORA_ID, AURORA_ID, BOREALIS_ID]);
    assert.deepEqual(await due(AURORA_ID), [BOREALIS_ID]);
    assert.equal((await takeErasure(database, lease, BOREALIS_ID))?.merchantId, BOREALIS_ID);
    assert.equal(await takeErasure(database, lease, BOREALIS_ID), undefined);
    assert.deepEqual(await due(), [AURORA_ID, AURORA_ID, AURORA_ID]);
  });

  it('that fail step back, more and more, and the others go on', async () => {
    const { database, clock } = deskbell;
    await database.run('delete from erasures');
    const [own, neighbour] = [callsOf(deskbell), callsOf(deskbell, BOREALIS)];
    const bad = await own.conversation('bad', '+34611001001', 'Zqxbad Zqxname');
    await own.ok('POST', `/conversation/${bad}/messages`, { from: 'customer', text: 'zqxrefused' });
    const good = await neighbour.conversation('good', '+34611001002', 'Good Name');
    const [stuck, gone] = [await newMerchant('Zqxstuck'), await newMerchant('Zqxgone')];
    await database.run(
      `insert into reached_customers (merchant_id, recipient, reached_at, delivery_key) values ($1, 'zqx', '2026', '')`,
      [stuck],
    );
    const accept = [
      await refuse(database, 'conversation_messages', `old.text = 'zqxrefused'`),
      await refuse(database, 'reached_customers', `old.recipient = 'zqx'`),
    ];
    await begin(stuck);
    clock.jump(1);
    await begin(gone);
    await eraseLater(AURORA_ID, bad);
    clock.jump(1);
    await eraseLater(BOREALIS_ID, good);
    clock.jump(31);
    erasers.push(start(deskbell));
    await until('the other merchant is deleted', async () => !(await findMerchant(database, gone)));
    const waitsMs = async () => {
      const rows = await database.all<{ due_at: string }>('select due_at from erasures');
      return rows.map(({ due_at }) => Date.parse(due_at) - clock.now().getTime());
    };
    const failures = () => logged.filter((line) => line.includes('cannot erase a person'));
    await until('the failure is logged', () => failures().length > 0);
    await until('the other failure is logged', () =>
      logged.some((line) => line.includes('cannot delete a merchant')),
    );
    // Half of the time that it has taken, so that it grows.
    await until('it waits', async () => (await waitsMs())[0]! < 50_000);
    // On a slow machine the first pause may have ended already.
    const before = failures().length;
    clock.jump(600);
    await until('it failed again', () => failures().length > before);
    await until('it waits longer', async () => (await waitsMs())[0]! > 200_000);
    for (const line of logged) assert.doesNotMatch(line, WORDS);
    const { merchant_id, step, error, ...more } = JSON.parse(failures()[0]!);
    assert.deepEqual([merchant_id, step, typeof error], [AURORA_ID, 'rows', 'string']);
    assert.deepEqual([more.err, more.stack], [undefined, undefined]);

    for (const done of accept) await done();
    clock.jump(3600);
    await until(
      'all are finished',
      async () => (await waitsMs()).length === 0 && !(await findMerchant(database, stuck)),
    );
    assert.deepEqual(await tablesWith(database, [WORDS]), []);
  });

  it('renew their lease on the command line', async () => {
    // They would take the same erasures.
    await Promise.all(erasers.map((eraser) => eraser.stop()));
    const { database, clock } = deskbell;
    const { conversation } = callsOf(deskbell);
    const leases: number[] = [];
    let ms = clock.now().getTime();
    const now = () => {
      ms += 20;
      return new Date(ms);
    };
    const channelsOf = async () => {
      const [row] = await database.all<{ due_at: string }>('select due_at from erasures');
      leases.push(Date.parse(row!.due_at) - ms);
      ms += LEASE_MS - 1000;
      return [];
    };
    const id = await conversation('lease', '+34611009401', 'Lea Se');
    // Two numbers: the second one comes a minute later.
    await database.run(
      `insert into wrong_phones (merchant_id, conversation_id, phone, replaced_by, created_at)
        values (1, $1, '+34611009402', '+34611009401', $2)`,
      [id, now().toISOString()],
    );
    await database.transaction((tx) => beginErasure(tx, AURORA_ID, id, { who: SERVER, at: now() }));
    ms += 1000;
    await finishErasures({ database, channelsOf, now }, AURORA_ID);
    assert.ok(leases.length >= 4, `${leases.length}`);
    for (const left of leases) assert.ok(left > LEASE_MS / 2, `${leases}`);
  });

  it('are finished only when nobody can read it in the files', { skip: engine !== 'sqlite' }, async () => {
    const { database, clock } = deskbell;
    const shop = await newMerchant('Zqxfiles');
    const reader = await database.snapshot();
    try {
      await reader.all('select id from merchants');
      await begin(shop);
      clock.jump(31);
      const parts = { database, channelsOf, now: clock.now, isStopped: () => false };
      const due = (await findDeleting(database, shop))!;
      assert.equal(await deleteSome(parts, due), 'later');
      assert.equal((await findMerchant(database, shop))?.name, '');
      reader.close();
      assert.equal(await deleteSome(parts, due), 'gone');
      assert.deepEqual(filesWith(deskbell, [/Zqxfiles/]), []);
    } finally {
      reader.close();
    }
  });
});
