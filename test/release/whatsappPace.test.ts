import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config.ts';
import type { Database, Engine } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { DELIVERIES } from '../../src/delivery/queue/enqueue.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { run } from '../support/process.ts';
import { MAIN } from '../support/program.ts';
import { enqueue, FIRST } from '../support/sending.ts';
import { onEachEngine } from '../support/server.ts';
import { META, type Meta, metaEnv, startMeta } from '../support/stand-ins/meta.ts';

/** Counts at WhatsApp's side, with separate processes as operators run them. */
onEachEngine('WhatsApp’s own limits', (engine) => {
  const CUSTOMERS = 200;
  const OFTEN = '+3546600000';
  let meta: Meta;
  let testDatabase: TestDatabase;
  before(async () => {
    meta = await startMeta({ now: () => new Date(), portfolioLimit: 10_000 });
    meta.statuses = [];
    testDatabase = await createTestDatabase(engine);
  });
  after(async () => {
    await meta.close();
    await testDatabase.remove();
  });

  it(`are respected by ${engine === 'postgres' ? 'two workers together' : 'the server'}`, async () => {
    const recipients = [
      ...Array.from({ length: CUSTOMERS }, (_, n) => `+35467${String(n).padStart(5, '0')}`),
      ...Array.from({ length: 60 }, () => OFTEN),
    ];
    await addMerchant(testDatabase);
    if (engine === 'sqlite') await fillQueue(testDatabase, recipients);
    const settings = {
      ...testDatabase.env,
      ...metaEnv(meta, { WHATSAPP_TEMPLATE: META.template }),
      CHANNEL_DAILY_LIMIT: '100000',
      DEMO: 'false',
      PORT: '0',
    };
    const processes = startSenders(engine, settings);
    if (engine === 'postgres') {
      // Only now: a worker that starts earlier than the other could send everything alone.
      for (const program of processes) await program.waitForOutput(/sending messages/);
      await fillQueue(testDatabase, recipients);
    }
    const sentTo = (isMatch: (phone: string) => boolean) =>
      meta.accepted.filter(({ to }) => isMatch(to)).map(({ atMs }) => atMs);
    for (let waits = 0; waits < 2400; waits += 1) {
      if (
        sentTo((phone) => phone !== OFTEN).length === CUSTOMERS &&
        sentTo((phone) => phone === OFTEN).length >= 45
      )
        break;
      await sleep(50);
    }
    await Promise.all(processes.map((program) => program.stop()));

    assert.equal(sentTo((phone) => phone !== OFTEN).length, CUSTOMERS);
    // 130429: more than 80 in a second. 131056: too many to one customer.
    assert.deepEqual(meta.refused, []);
    const all = sentTo(() => true);
    for (const from of all) {
      const count = all.filter((ms) => ms >= from && ms < from + 1000).length;
      assert.ok(count <= 80, `${count} within a second`);
    }
    const often = sentTo((phone) => phone === OFTEN);
    const seconds = (often.at(-1)! - often[0]!) / 1000;
    assert.ok(often.length >= 45 && often.length <= 46 + seconds / 6, `${often.length} in ${seconds} s`);
    const turned = processes.map((program) => program.stdout());
    if (engine === 'postgres') {
      for (const text of turned) assert.doesNotMatch(text, /Stopped after 0 attempts/);
    }
  });
});

async function withDatabase(
  { env }: TestDatabase,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(readConfig(env), 'serve');
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

const addMerchant = (testDatabase: TestDatabase) =>
  withDatabase(testDatabase, async (database) => {
    await migrate(database, () => new Date());
    await insertMerchant(database, 'Aurora', new Date());
  });

/** Also wakes the workers that run. */
const fillQueue = (testDatabase: TestDatabase, recipients: readonly string[]) =>
  withDatabase(testDatabase, async (database) => {
    const delivery = { notificationId: 1, conversationId: 1, mode: 'reply', content: 'At nine.' } as const;
    await database.transaction(async (tx) => {
      for (const recipient of recipients)
        await enqueue(tx, FIRST, { ...delivery, recipient, at: new Date() });
    });
    database.signal(DELIVERIES);
  });

function startSenders(engine: Engine, settings: Record<string, string>) {
  const work = [process.execPath, MAIN, 'work'];
  return engine === 'postgres' ? [run(settings, work), run(settings, work)] : [run(settings)];
}
