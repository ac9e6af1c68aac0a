import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { databaseFile } from '../../../src/database/sqliteFolder.ts';
import { useKilling } from '../../support/killing.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { onEachEngine } from '../../support/server.ts';

onEachEngine('a message survives if its server is killed', (engine) => {
  const killing = useKilling(engine);
  const { reuse, start, kill, answer, delivery, until, untilState, expireWaits } = killing;
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());

  const timesAcceptedWith = (key: string) =>
    receiver.received.filter(({ headers }) => headers['webhook-id'] === key).length;
  /** How often the channel accepted the newest message. */
  const timesAccepted = async () => timesAcceptedWith((await delivery())!.key);
  const isCalled = async () => (await delivery()) !== undefined && (await timesAccepted()) > 0;
  const acceptAll = () => {
    receiver.answer = (response) => response.writeHead(204).end();
  };

  it('after the claim, before the channel is called', { skip: engine !== 'postgres' }, async () => {
    const server = await reuse(webhookEnv(receiver));
    const client = new pg.Client(killing.testDatabase.env.DATABASE_URL);
    await client.connect();
    // A campaign is counted in this table between claim and call.
    await client.query('begin; lock table reached_customers in share mode');
    try {
      await answer(server, { only_send_campaign: true });
      await untilState('sending');
      await kill(server);
    } finally {
      await client.end();
    }
    assert.deepEqual([(await delivery())?.state, await timesAccepted()], ['sending', 0]);
    await expireWaits();
    await start(webhookEnv(receiver));
    await untilState('sent');
    assert.equal(await timesAccepted(), 1);
  });

  it('during the call to the channel, before the claim of the next, and after the outcome is stored', async () => {
    const server = await reuse(webhookEnv(receiver));
    await answer(server);
    await untilState('sent');
    const { key: stored } = (await delivery())!;
    receiver.answer = () => {};
    await answer(server);
    await until('the channel is called', isCalled);
    const { key: called, due_at: leaseUntil } = (await delivery())!;
    assert.ok(Date.parse(leaseUntil) - Date.now() < 28_000, 'taken over within 30 s, including a poll');
    // To the same customer, so it waits.
    await answer(server);
    const { key: unclaimed, state } = (await delivery())!;
    assert.equal(state, 'queued');

    // Before the other server starts: if that takes longer than the time-out of the call, the next attempt is the last.
    acceptAll();
    if (engine === 'postgres') await start(webhookEnv(receiver));
    await kill(server);
    if (engine === 'postgres') {
      await until('the other server sends it again', () => timesAcceptedWith(called) === 2, 30_000);
    } else {
      await expireWaits();
      await start(webhookEnv(receiver));
    }
    await untilState('sent');
    assert.deepEqual(
      [stored, called, unclaimed].map(timesAcceptedWith),
      [1, 2, 1],
      'only the second one again, with the same key',
    );
  });

  it('after the channel accepted the message, before that is stored', async () => {
    let accept: () => void = () => {};
    receiver.answer = (response) => {
      accept = () => response.writeHead(204).end();
    };
    const server = await reuse(webhookEnv(receiver));
    await answer(server);
    await until('the channel is called', isCalled);
    const releaseWrites = await holdWrites();
    accept();
    await sleep(250);
    await kill(server);
    await releaseWrites();
    assert.equal((await delivery())?.state, 'sending');
    acceptAll();
    await expireWaits();
    await start(webhookEnv(receiver));
    await untilState('sent');
    assert.equal(await timesAccepted(), 2, 'again, with the same key');
  });

  async function holdWrites(): Promise<() => Promise<void>> {
    if (engine === 'sqlite') {
      // The server may be writing.
      const holder = new DatabaseSync(databaseFile(killing.testDatabase.env.DATA_DIR!), { timeout: 30_000 });
      holder.exec('begin immediate');
      return async () => holder.close();
    }
    const client = new pg.Client(killing.testDatabase.env.DATABASE_URL);
    await client.connect();
    await client.query('begin; lock table deliveries in share mode');
    return () => client.end();
  }
});
