import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { readConfig } from '../../../src/config.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { reserveNextTurn, reserveTurn, type Turn } from '../../../src/delivery/channels/whatsapp/pace.ts';
import { createTestDatabase, type TestDatabase } from '../../support/databases.ts';
import { onEachEngine } from '../../support/server.ts';

const START = Date.parse('2026-01-15T09:30:00.000Z');
const at = (ms: number) => new Date(START + ms);

onEachEngine('the sending rate of a WhatsApp number', (engine) => {
  let testDatabase: TestDatabase;
  /** Two workers, each with its own connection. SQLite has one process, so one worker. */
  const workers: Database[] = [];
  before(async () => {
    testDatabase = await createTestDatabase(engine);
    const open = () => openDatabase(readConfig(testDatabase.env), 'serve');
    workers.push(await open());
    await migrate(workers[0]!, () => at(0));
    workers.push(engine === 'postgres' ? await open() : workers[0]!);
  });
  after(async () => {
    for (const worker of new Set(workers)) await worker.close();
    await testDatabase.remove();
  });
  const worker = (n: number) => workers[n % 2]!;

  let channels = 0;
  const newChannel = () => {
    channels += 1;
    return `whatsapp:${channels}`;
  };
  const turnAt = (turn: Turn) => ('atMs' in turn ? turn.atMs - START : undefined);
  /** As many at once as both workers have connections. One more would wait for the pool, and fail on a slow machine. */
  const manyAtOnce = async (count: number, reserve: (n: number) => Promise<Turn>) => {
    const turns: Turn[] = [];
    while (turns.length < count) {
      const length = Math.min(20, count - turns.length);
      turns.push(...(await Promise.all(Array.from({ length }, (_, n) => reserve(turns.length + n)))));
    }
    return turns;
  };

  it('gives every message of all workers its own time, evenly spaced: at most 80 in any second', async () => {
    const channel = newChannel();
    const turns = await manyAtOnce(60, (n) => reserveTurn(worker(n), channel, `+${n}`, at(0)));
    const times = turns.map(turnAt).sort((one, other) => one! - other!);
    assert.deepEqual(
      times,
      turns.map((_, n) => n * 15),
    );
  });

  it('makes a message wait if its slot is more than a second away, and does not count it for the customer', async () => {
    const channel = newChannel();
    for (let n = 0; n < 67; n += 1) await reserveNextTurn(worker(n), channel, at(0));
    const paced = { mustWait: 'NUMBER_PACE', retryInMs: 1000 };
    assert.deepEqual(await reserveNextTurn(worker(0), channel, at(0)), paced);
    for (let n = 0; n < 50; n += 1)
      assert.deepEqual(await reserveTurn(worker(n), channel, '+1', at(0)), paced);
    assert.equal(turnAt(await reserveTurn(worker(0), channel, '+1', at(2000))), 2000);
  });

  it('allows 45 messages to one customer at once, then one every six seconds, and does not delay other customers', async () => {
    const channel = newChannel();
    const send = (phone: string, ms: number, n = 0) => reserveTurn(worker(n), channel, phone, at(ms));
    const first = await manyAtOnce(50, (n) => send('+1', 0, n));
    assert.equal(first.filter((turn) => 'atMs' in turn).length, 45);
    assert.deepEqual(await send('+1', 0), { mustWait: 'CUSTOMER_PACE', retryInMs: 6000 });
    assert.deepEqual(await send('+1', 5999), { mustWait: 'CUSTOMER_PACE', retryInMs: 1 });
    assert.ok('atMs' in (await send('+2', 5999)));
    assert.ok('atMs' in (await send('+1', 6000)));
    assert.ok('mustWait' in (await send('+1', 6000, 1)));
    // A long pause does not allow more than one burst.
    const later = await manyAtOnce(50, (n) => send('+1', 86_400_000, n));
    assert.equal(later.filter((turn) => 'atMs' in turn).length, 45);
  });
});
