import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { citusUrl, createDemoDatabase, engines, type TestDatabase } from '../support/databases.ts';
import { distribute, urlOf } from '../support/distributing.ts';
import { startRecording, stopRecording } from '../support/plans/statements.ts';
import { raise, startDeskbell } from '../support/server.ts';
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

if (spread) {
  for (const file of FILES) await import(`../${file}`);

  describe('where the tables are spread', () => {
    it('all numbers of a new notification and of an answer are drawn before their transaction', async () => {
      const quiet = await startDeskbell('postgres', { WORKER: 'false' });
      try {
        assert.ok(quiet.database.isSpread);
        const token = await quiet.signIn();
        const body = { answer: 'Yes, we do.' };
        const answer = async (path: string) =>
          assert.equal((await quiet.call('POST', `${path}/answer`, { token, body })).status, 200);
        // What a server reads only once.
        await answer(await raise(quiet, token));

        startRecording();
        const path = await raise(quiet, token);
        const raised = stopRecording();
        startRecording();
        await answer(path);
        for (const statements of [raised, stopRecording()]) {
          const texts = statements.map(({ sql }) => sql.replaceAll(/\s+/g, ' ').trim());
          const begun = texts.indexOf('begin');
          const written = texts.findIndex((text) => text.startsWith('insert into new_events'));
          assert.ok(begun >= 0 && begun < written, texts.join('\n'));
          const drawn = texts.findLastIndex((text) => text.includes('nextval'));
          assert.ok(drawn >= 0 && drawn < begun, texts.join('\n'));
        }
      } finally {
        await quiet.close();
      }
    });
  });
}
