import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { run, settingsOf } from '../../support/command.ts';
import { idsOf, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

onEachEngine('a file with other wordings of documents', (engine) => {
  const { deskbell, call, make } = useKnowledge(engine);
  const command = (...args: string[]) => run(['knowledge', ...args], { env: settingsOf(deskbell) });
  async function importLines(documents: readonly object[]) {
    const file = join(deskbell.config.dataDir, 'documents.jsonl');
    writeFileSync(file, documents.map((document) => JSON.stringify(document)).join('\n'));
    const { code, json, stderr } = await command('import', file, '--merchant', '1', '--json');
    assert.equal(code, 0, stderr);
    return json;
  }
  const found = async (q: string) => idsOf(await call('GET', `?q=${q}`));
  const textsOf = async (id: number) =>
    (await call('GET', String(id))).json.wordings.map(({ text }: { text: string }) => text);

  it('is imported: missing wordings are added, the others stay', async () => {
    const known = { title: 'Is it organic?', body: 'Yes, all of it.' };
    const id = await make({ question: known.title, answer: known.body });
    await call('POST', `${id}/wordings`, { body: { text: 'Any kiwi pesticides?' } });
    const added = { title: 'New here', body: 'Text.', wordings: ['A kakapo?', 'a KAKAPO', 'New here!'] };
    const wordings = ['Any kiwi pesticide', 'Is the weka clean?'];
    assert.deepEqual(await importLines([added, { ...known, wordings }]), {
      ...{ added: 1, updated: 1, unchanged: 0 },
      failed: 0,
    });
    assert.deepEqual(await textsOf(id), ['Is the weka clean?', 'Any kiwi pesticides?']);
    assert.equal((await call('GET', String(id))).json.version, 1);
    const [created] = await found('kakapo');
    assert.deepEqual(await textsOf(created!), ['A kakapo?']);
    assert.deepEqual([await found('weka'), await found('kiwi')], [[id], [id]]);
    const { json } = await call('GET', String(created));
    assert.deepEqual([json.wordings[0].user_id, json.wordings[0].user_name], [null, null]);

    // The same file changes nothing; without wordings they stay, and a new body keeps them in the index.
    assert.deepEqual((await importLines([added, { ...known, wordings }])).unchanged, 2);
    assert.equal((await importLines([{ ...known, body: 'Not the filters.' }])).updated, 1);
    assert.deepEqual((await textsOf(id)).length, 2);
    assert.deepEqual(await found('weka'), [id]);
  });

  it('is exported with them as JSON Lines, and without them as Markdown', async () => {
    const id = await make({ question: 'For export', answer: 'Text.' });
    for (const text of ['First pukeko?', 'Second takahe?'])
      await call('POST', `${id}/wordings`, { body: { text } });
    const lines = (await command('export', '--merchant', '1', '--format', 'jsonl')).stdout.trim().split('\n');
    const exported = lines.map((line) => JSON.parse(line)).find(({ title }) => title === 'For export');
    assert.deepEqual(exported, {
      title: 'For export',
      body: 'Text.',
      wordings: ['First pukeko?', 'Second takahe?'],
    });
    assert.doesNotMatch((await command('export', '--merchant', '1')).stdout, /pukeko/);
    // A second export of what was imported again is the same.
    assert.equal((await importLines(lines.map((line) => JSON.parse(line)))).unchanged, lines.length);
  });

  it('with 100 wordings for each of 100 documents is imported', async () => {
    const documents = Array.from({ length: 100 }, (_, n) => ({
      title: `Large ${n}`,
      body: 'Text.',
      wordings: Array.from({ length: 100 }, (_, w) => `Wording ${w} of ${n}?`),
    }));
    assert.equal((await importLines(documents)).added, 100);
    const count = await deskbell.database.one<{ n: number }>(
      `select count(*) as n from document_wordings where text like 'Wording %'`,
    );
    assert.equal(count!.n, 10_000);
  });
});
