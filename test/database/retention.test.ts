import assert from 'node:assert/strict';
import { it } from 'node:test';
import { cleanUp } from '../../src/cleanUp.ts';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { createLogger } from '../../src/log.ts';
import { idsOf, onEachEngine, raise, useDeskbell } from '../support/server.ts';

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
    const rows = Array.from({ length: 5 }, (_, batch) =>
      Array.from({ length: 1000 }, (_, n) => `('customer ${batch}-${n}', '192.0.2.1', '${old}')`),
    );
    for (const batch of rows)
      await database.run(
        `insert into sign_in_failures (account, address, failed_at) values ${batch} returning 1 as made`,
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
    assert.ok(turns >= rows.length, `${turns} turns`);
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
