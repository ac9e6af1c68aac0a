import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { EVERYWHERE } from '../../src/database/spread/layout.ts';
import { tablesOf } from '../support/copying.ts';
import { createDemoDatabase, createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { distribute, NO_STAND_IN as skip, useCluster } from '../support/distributing.ts';
import { raise, startDeskbell } from '../support/server.ts';

/** They stay on the coordinator. Citus knows those with a foreign key to a table that is on every node. */
const ON_THE_COORDINATOR = ['sessions', 'passkeys', 'totp_secrets', 'recovery_codes'];
/** Triggers write to them. Rows that are copied must not be counted again. */
const COUNTED = ['inboxes', 'statistics_quarters', 'statistics_days', 'live_versions', 'inbox_changes'];
const TRIGGERS = `select tgname, tgenabled, pg_get_triggerdef(oid) as definition from pg_trigger
  where not tgisinternal order by tgrelid::regclass::text, tgname`;

describe('spreading the tables over a cluster', { skip }, () => {
  const cluster = useCluster();

  it('distributes every table by merchant, on every node or not, keeps all rows and foreign keys, and says so', async () => {
    const { citus, keys, keysBefore, testDatabase } = cluster;
    const rowsBefore = await tablesOf(testDatabase);
    await citus.query('alter table documents disable trigger documents_changed');
    const triggers = await citus.query(TRIGGERS);
    const { code, stdout, stderr } = await distribute(testDatabase);
    assert.equal(code, 0, stderr);
    assert.deepEqual(await citus.query(TRIGGERS), triggers);
    await citus.query('alter table documents enable trigger documents_changed');
    const tables = await citus.tables();
    for (const name of EVERYWHERE) assert.equal(tables[name], 'reference', name);
    for (const name of ['notifications', 'deliveries', 'simulator_messages', 'machine_keys', 'audit_events'])
      assert.equal(tables[name], 'distributed', name);
    for (const name of ON_THE_COORDINATOR) assert.equal(tables[name], 'local', name);
    for (const name of ['schema_migrations', 'background_changes', 'sign_in_failures', 'inbound_updates'])
      assert.equal(tables[name], undefined, name);
    assert.deepEqual(await keys(), keysBefore);
    const { audit_events: added, ...rows } = await tablesOf(testDatabase);
    const { audit_events: were, ...others } = rowsBefore;
    assert.deepEqual(rows, others);
    for (const name of COUNTED) assert.deepEqual(rows[name], rowsBefore[name], name);
    for (const name of ['inboxes', 'live_versions']) assert.ok(rows[name]!.rows > 0, name);
    assert.equal(added!.rows, were!.rows + 1);
    const placed = Object.entries(tables).filter(([, kind]) => kind !== 'local');
    assert.deepEqual(await citus.truncated(), placed.map(([name]) => name).sort());

    const spread = placed.length - EVERYWHERE.length;
    assert.match(
      stdout,
      new RegExp(`^The tables are spread: ${spread} by merchant, 3 on every node, \\d+ on`),
    );
    for (const step of ['on every node: merchants', 'by merchant: notifications', 'finish'])
      assert.match(stderr, new RegExp(`\n${step} \\(`));
  });

  it('a server then knows it, and answers a question from end to end; nobody can distribute beside it', async () => {
    await distribute(cluster.testDatabase);
    const deskbell = await startDeskbell('postgres', {}, cluster.testDatabase);
    try {
      assert.equal(deskbell.database.isSpread, true);
      const token = await deskbell.signIn();
      const path = await raise(deskbell, token);
      const body = { answer: 'Yes, we do.' };
      const answered = await deskbell.call('POST', `${path}/answer`, { token, body });
      assert.equal(answered.status, 200, answered.text);
      await deskbell.allSent();
      const [delivery] = (await deskbell.call('GET', '/api/v1/delivery/', { token })).json;
      assert.equal(delivery.state, 'delivered');
      assert.equal((await deskbell.call('GET', path, { token })).json.status, 'answered');
      assert.doesNotMatch(deskbell.logged.join(''), /not spread/);
      const { stderr, code } = await distribute(cluster.testDatabase);
      assert.equal(code, 1);
      assert.match(stderr, /^1 server or worker runs on this database\. Stop all of them first: .+\n$/);
    } finally {
      await deskbell.close();
    }
  });
});

describe('a database without a cluster', () => {
  const removed: TestDatabase[] = [];
  after(() => Promise.all(removed.map((database) => database.remove())));

  it('is refused if it is the embedded one', async () => {
    const database = await createDemoDatabase('sqlite');
    removed.push(database);
    const { code, stderr } = await distribute(database);
    assert.equal(code, 1);
    assert.match(stderr, /^The embedded database cannot be spread\. .+ move --help"\.\n$/);
  });

  it('is refused with the statements that make it one', { skip }, async () => {
    const database = await createTestDatabase('postgres');
    removed.push(database);
    const { code, stderr } = await distribute(database);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Citus is not installed in this database\. .*"create extension citus".*citus_set_coordinator_host/,
    );
    assert.equal(stderr.trim().split('\n').length, 1);
  });
});
