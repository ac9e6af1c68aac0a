import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import pg from 'pg';
import { run } from '../../support/command.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { NOTIFICATIONS, onEachEngine, QUESTION, raise, startDeskbell } from '../../support/server.ts';
import { KNOWLEDGE } from '../../support/teaching.ts';

const DOCUMENTS = 80;
const IMPORTS = 4;
const WRITERS = 6;

onEachEngine('a knowledge import', (engine) => {
  it('runs during edits, reverts and answers without an error or a deadlock', async () => {
    const testDatabase = await createDemoDatabase(engine, 'weak');
    try {
      const deskbell = await startDeskbell(engine, {}, testDatabase);
      try {
        const token = await deskbell.signIn();
        const file = join(testDatabase.env.DATA_DIR!, 'documents.jsonl');
        // The highest ids first: an import that locks in file order would deadlock with the others.
        const importAll = async (body: string) => {
          const lines = Array.from({ length: DOCUMENTS }, (_, n) =>
            JSON.stringify({ title: `Title ${DOCUMENTS - n}`, body: `${body} ${n}` }),
          );
          writeFileSync(file, lines.join('\n'));
          const { json } = await run(['knowledge', 'import', file, '--merchant', '1', '--json'], {
            env: testDatabase.env,
          });
          return json;
        };
        await importAll('First');
        await importAll('Second');
        const { json: documents } = await deskbell.call('GET', `${KNOWLEDGE}/?limit=1000`, { token });
        const ids: number[] = documents
          .filter(({ title }: { title: string }) => title.startsWith('Title '))
          .map(({ id }: { id: number }) => id);
        assert.equal(ids.length, DOCUMENTS);

        let importing = true;
        const problems: string[] = [];
        const write = async (n: number, round: number) => {
          const id = ids[(n * 13 + round * 7) % ids.length]!;
          const act = [
            () =>
              deskbell.call('PATCH', `${KNOWLEDGE}/${id}`, { token, body: { body: `Edit ${n} ${round}` } }),
            () => deskbell.call('POST', `${KNOWLEDGE}/${id}/revert`, { token }),
            async () => {
              const context = { ...QUESTION.context, document_id: id };
              const address = await raise(deskbell, token, { ...QUESTION, context });
              return deskbell.call('POST', `${address}/answer`, {
                token,
                body: { answer: `Answer ${round}` },
              });
            },
          ][(n + round) % 3]!;
          const { status, text } = await act();
          if (status !== 200) problems.push(`${status} ${text}`);
        };
        const writers = Array.from({ length: WRITERS }, async (_, n) => {
          for (let round = 0; importing; round += 1) await write(n, round);
          return n;
        });
        for (let n = 0; n < IMPORTS; n += 1) {
          const summary = await importAll(`Import ${n}`);
          const stored = summary.added + summary.updated + summary.unchanged;
          if (stored !== DOCUMENTS || summary.added > 0) problems.push(JSON.stringify(summary));
        }
        importing = false;
        await Promise.all(writers);
        assert.deepEqual(problems, []);
        const { json: pending } = await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token });
        const left = pending.filter(
          ({ context }: { context: { document_id?: number } }) => context.document_id !== undefined,
        );
        assert.deepEqual(left, []);
      } finally {
        await deskbell.close();
      }
      if (engine === 'postgres') assert.equal(await deadlocksOf(testDatabase.env.DATABASE_URL!), 0);
    } finally {
      await testDatabase.remove();
    }
  });
});

/** PostgreSQL's own counter. A connection reports its part when it ends, so read it after the server has closed. */
async function deadlocksOf(url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query(
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0].deadlocks);
  } finally {
    await client.end();
  }
}
