import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { importDocuments } from '../../../src/knowledge/files/import.ts';
import { createDemoDatabase, engines } from '../../support/databases.ts';
import { newMerchant } from '../../support/merchants.ts';
import { startDeskbell } from '../../support/server.ts';

const DOCUMENTS = 60;

// SQLite has one transaction at a time.
if (engines.includes('postgres'))
  it('a knowledge import runs during edits, reverts and answers without an error or a deadlock', async (test) => {
    const { env, remove } = await createDemoDatabase('postgres', 'weak');
    const deskbell = await startDeskbell('postgres', {}, { env, remove });
    test.after(async () => {
      await deskbell.close();
      await remove();
    });
    const shop = await newMerchant(deskbell);
    // The highest ids first: an import that locks in the order of the file would deadlock with the others.
    const importAll = (body: string) => {
      const contents = Array.from({ length: DOCUMENTS }, (_, n) => ({
        title: `Title ${DOCUMENTS - n}`,
        body,
      }));
      const options = { now: deskbell.clock.now, onProgress: () => {} };
      return importDocuments(deskbell.database, shop.id, contents, options);
    };
    for (const body of ['First', 'Second']) await importAll(body);
    const ids = (await shop.get('/knowledge/?limit=1000')).json.map(({ id }: { id: number }) => id);
    assert.equal(ids.length, DOCUMENTS);

    let importing = true;
    const write = async (n: number, round: number) => {
      const id = ids[(n * 13 + round * 7) % ids.length]!;
      const acts = [
        () => shop.patch(`/knowledge/${id}`, { body: `Edit ${n} ${round}` }),
        () => shop.post(`/knowledge/${id}/revert`),
        async () => shop.answer(await shop.raise({ context: { question: 'What?', document_id: id } })),
      ];
      const { status, text } = await acts[(n + round) % 3]!();
      assert.equal(status, 200, text);
    };
    const writers = Array.from({ length: 6 }, async (_, n) => {
      for (let round = 0; importing; round += 1) await write(n, round);
    });
    for (let n = 0; n < 4; n += 1) {
      const { added, updated, unchanged } = await importAll(`Import ${n}`);
      assert.deepEqual([added, updated + unchanged], [0, DOCUMENTS]);
    }
    importing = false;
    await Promise.all(writers);
    // A connection reports its part of PostgreSQL's own counter when it ends.
    await deskbell.close();
    const client = new pg.Client(env.DATABASE_URL!);
    await client.connect();
    const sql = 'select deadlocks from pg_stat_database where datname = current_database()';
    const { rows } = await client.query(sql).finally(() => client.end());
    assert.equal(Number(rows[0].deadlocks), 0);
  });
