import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import pg from 'pg';
import { run } from '../../support/command.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { NOTIFICATIONS, onEachEngine, QUESTION, raise, startDeskbell } from '../../support/server.ts';
import { KNOWLEDGE } from '../../support/teaching.ts';

const DOCUMENTS = 60;
const IMPORTS = 4;
const WRITERS = 6;

onEachEngine('a knowledge import', (engine) => {
  it('runs during edits, reverts and answers without an error or a deadlock', async (test) => {
    const { env, remove } = await createDemoDatabase(engine, 'weak');
    const deskbell = await startDeskbell(engine, {}, { env, remove });
    test.after(async () => {
      await deskbell.close();
      await remove();
    });
    const token = await deskbell.signIn();
    const post = (path: string, body?: object) => deskbell.call('POST', path, { token, body });
    const file = join(env.DATA_DIR!, 'documents.jsonl');
    // The highest ids first: an import that locks in file order would deadlock with the others.
    const importAll = async (body: string) => {
      const lines = Array.from({ length: DOCUMENTS }, (_, n) =>
        JSON.stringify({ title: `Title ${DOCUMENTS - n}`, body: `${body} ${n}` }),
      );
      writeFileSync(file, lines.join('\n'));
      return (await run(['knowledge', 'import', file, '--merchant', '1', '--json'], { env })).json;
    };
    for (const body of ['First', 'Second']) await importAll(body);
    const { json: documents } = await deskbell.call('GET', `${KNOWLEDGE}/?limit=1000`, { token });
    const ids: number[] = documents
      .filter(({ title }: { title: string }) => title.startsWith('Title '))
      .map(({ id }: { id: number }) => id);
    assert.equal(ids.length, DOCUMENTS);

    let importing = true;
    const problems: string[] = [];
    const write = async (n: number, round: number) => {
      const id = ids[(n * 13 + round * 7) % ids.length]!;
      const body = { body: `Edit ${n} ${round}` };
      const acts = [
        () => deskbell.call('PATCH', `${KNOWLEDGE}/${id}`, { token, body }),
        () => post(`${KNOWLEDGE}/${id}/revert`),
        async () => {
          const context = { ...QUESTION.context, document_id: id };
          const address = await raise(deskbell, token, { ...QUESTION, context });
          return post(`${address}/answer`, { answer: `Answer ${round}` });
        },
      ];
      const { status, text } = await acts[(n + round) % 3]!();
      if (status !== 200) problems.push(`${status} ${text}`);
    };
    const writers = Array.from({ length: WRITERS }, async (_, n) => {
      for (let round = 0; importing; round += 1) await write(n, round);
    });
    for (let n = 0; n < IMPORTS; n += 1) {
      const { added, updated, unchanged } = await importAll(`Import ${n}`);
      if (added > 0 || updated + unchanged !== DOCUMENTS) problems.push(`${added} ${updated} ${unchanged}`);
    }
    importing = false;
    await Promise.all(writers);
    assert.deepEqual(problems, []);
    const { text } = await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token });
    assert.doesNotMatch(text, /document_id":\d/);
    await deskbell.close();
    if (engine === 'postgres') assert.equal(await deadlocksOf(env.DATABASE_URL!), 0);
  });
});

/** PostgreSQL's own counter. A connection reports its part when it ends, so read it after the server has closed. */
async function deadlocksOf(url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  const sql = 'select deadlocks from pg_stat_database where datname = current_database()';
  const { rows } = await client.query(sql).finally(() => client.end());
  return Number(rows[0].deadlocks);
}
