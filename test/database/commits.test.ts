import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { DatabaseUnavailable } from '../../src/database/database.ts';
import { CommitFailed } from '../../src/database/postgresErrors.ts';
import { engines } from '../support/databases.ts';
import { type Merchant, newMerchant } from '../support/merchants.ts';
import { useDeskbell } from '../support/server.ts';

/** SQLite has no nodes, and its commit fails only with the disk: see test/release/faults/disk.ts. */
describe('a commit that PostgreSQL refuses', { skip: !engines.includes('postgres') }, () => {
  const deskbell = useDeskbell('postgres', { DATABASE_POOL_SIZE: '1', WORKER: 'false' });
  let shop: Merchant;
  before(async () => {
    shop = await newMerchant(deskbell);
  });
  const ask = () =>
    shop.post('/ask', { question: 'Do you ship to the moon?', conversation_id: shop.conversationId });
  const pidOf = async () =>
    (await deskbell.database.one<{ pid: number }>('select pg_backend_pid() as pid'))!.pid;

  /** What is deferred fails at the commit, as it does if a node of a cluster is away. */
  async function failAtCommit(code: string): Promise<void> {
    await deskbell.database.run(`create or replace function fail_at_commit() returns trigger language plpgsql as $$
      begin raise exception 'a node is away' using errcode = '${code}'; end $$`);
    await deskbell.database.run('drop trigger if exists fails_at_commit on asks');
    await deskbell.database.run(`create constraint trigger fails_at_commit after insert on asks
      deferrable initially deferred for each row execute function fail_at_commit()`);
  }

  it('is told from a database that is away: the connection stays, and nothing is run twice', async () => {
    for (const code of ['XX000', '08006']) {
      await failAtCommit(code);
      const pid = await pidOf();
      let runs = 0;
      const writing = deskbell.database.transaction(async (tx) => {
        runs += 1;
        await tx.run(
          `insert into asks (merchant_id, id, conversation_id, question_key, deliver, created_at)
            values (1, 999, 1, 'k', 'deskbell', 'now')`,
        );
      });
      await assert.rejects(writing, (error) => error instanceof CommitFailed);
      assert.equal(runs, 1);
      assert.equal(await pidOf(), pid);
      const asked = await ask();
      assert.equal(asked.status, 503);
      assert.equal(await pidOf(), pid);
      assert.equal((await deskbell.call('GET', '/readyz')).status, 200);
    }
    await deskbell.database.run('drop trigger fails_at_commit on asks');
    const asked = await ask();
    assert.equal(asked.status, 200);
  });

  it('is never taken for a success, also if a failed statement was ignored', async () => {
    const writing = deskbell.database.transaction(async (tx) => {
      await tx.run(`insert into merchants (name, created_at) values ('Lost', 'now')`);
      await tx.run('select * from there_is_no_such_table').catch(() => {});
    });
    await assert.rejects(writing, (error) => !(error instanceof DatabaseUnavailable));
    assert.deepEqual(await deskbell.database.all(`select id from merchants where name = 'Lost'`), []);
  });
});
