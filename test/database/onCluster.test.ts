import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { citusUrl, createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { distribute, urlOf } from '../support/distributing.ts';
import { installCitus } from '../support/stand-ins/citus.ts';

/**
 * Tests of other folders, where the tables are spread over a cluster by a stand-in for Citus. PostgreSQL runs whatever the
 * server sends. At the end of `npm test`, the statements are checked against the rules for a cluster.
 */
const FILES = [
  'contract/answer.test.ts',
  'features/asks/asks.test.ts',
  'features/conversations/messages.test.ts',
  'features/delivery/delivery.test.ts',
  'features/delivery/order.test.ts',
  'features/webhooks/eventLog.test.ts',
  'features/whatsapp/inbound.test.ts',
];

const spread = engines.includes('postgres') && !citusUrl ? await createSpreadDatabase() : undefined;
after(() => spread?.remove());

async function createSpreadDatabase(): Promise<TestDatabase> {
  const database = await createDemoDatabase('postgres', 'weak');
  const url = urlOf(database);
  await installCitus(url);
  const { code, stderr } = await distribute(database);
  assert.equal(code, 0, stderr);
  // The servers of this process get copies of it, and none is on SQLite.
  process.env.TEST_DEMO_DATABASE_weak = new URL(url).pathname.slice(1);
  (engines as Engine[]).splice(0, engines.length, 'postgres');
  return database;
}

if (spread) for (const file of FILES) await import(`../${file}`);
