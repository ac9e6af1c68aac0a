import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { run, settingsOf } from '../../support/command.ts';
import { assertError, idsOf, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

/** The formats are in the unit tests of `src/knowledge/files/`. */
onEachEngine('new documents and files of documents', (engine) => {
  const { shop, other, deskbell, call, read, make } = useKnowledge(engine);
  type Titled = { title: string };
  const titles = async (): Promise<string[]> =>
    (await call('GET', '?limit=1000')).json.map(({ title }: Titled) => title);
  const importFile = async (body: object, token?: string) =>
    call('POST', 'import', { token: token ?? (await shop.token()), body });
  const command = (name: string, ...args: string[]) =>
    run(['knowledge', name, ...args, '--merchant', String(shop.id)], { env: settingsOf(deskbell) });
  async function importLines(documents: readonly object[]) {
    const file = join(deskbell.config.dataDir, 'documents.jsonl');
    writeFileSync(file, documents.map((document) => JSON.stringify(document)).join('\n'));
    const { code, json, stderr } = await command('import', file, '--json');
    assert.equal(code, 0, stderr);
    return json;
  }
  const found = async (q: string) => idsOf(await call('GET', `?q=${q}`));
  const textsOf = async (id: number) => (await read(id)).wordings.map(({ text }: { text: string }) => text);

  it('a document can be written by hand, and its author is known', async () => {
    const made = await call('POST', '', { body: { title: '  Gift\ncards ', body: 'From 20 euros.' } });
    assert.deepEqual([made.status, made.json.title], [200, 'Gift cards']);
    assert.equal(made.headers.get('etag'), `"${made.json.id}-1"`);
    const [{ user_name, what }] = (await read(made.json.id)).versions;
    assert.deepEqual([user_name, what], ['Olga Owner', 'edit']);
    assertError(await call('POST', '', { body: { title: 'x' } }), 422, 'VALIDATION_ERROR', 'body');
  });

  it('a preview tells what an import would do, and writes nothing', async () => {
    await make({ question: 'Gift vouchers', answer: 'From 20 euros.' });
    const before = await titles();
    const text = [
      'title;body;wordings',
      'Gift vouchers;From 25 euros.;',
      'Opening hours;"From 10 to 19.\nNot on Sundays.";When are you open?|Open today?',
      'Empty;;',
      'Which grind for which maker?;x;y;z',
    ].join('\n');
    const { json } = await importFile({ format: 'csv', text, preview: true });
    assert.deepEqual(
      json.documents.map(({ line, title, change }: Record<string, unknown>) => [line, title, change]),
      [
        [2, 'Gift vouchers', 'changed'],
        [3, 'Opening hours', 'new'],
      ],
    );
    assert.deepEqual(json.problems, [
      { line: 5, problem: 'body must not be blank' },
      { line: 6, problem: 'the line has 4 fields, the header 3' },
    ]);
    const { added, updated, unchanged, failed } = json;
    assert.deepEqual([added, updated, unchanged, failed], [1, 1, 0, 2]);
    assert.deepEqual(await titles(), before);

    await importFile({ format: 'csv', text });
    const again = await importFile({ format: 'csv', text, preview: true });
    assert.deepEqual([again.json.added, again.json.updated, again.json.unchanged], [0, 0, 2]);
    const [made] = await found('open%20today');
    const { body, wordings, versions } = await read(made!);
    assert.deepEqual(
      [body, wordings.length, versions[0].user_name],
      ['From 10 to 19.\nNot on Sundays.', 2, 'Olga Owner'],
    );
  });

  it('an export has every document, and imported again it changes nothing', async () => {
    const many = Array.from({ length: 120 }, (_, n) => `# Topic ${n}\n\nText ${n}.\n`).join('\n');
    assert.equal((await importFile({ format: 'md', text: many })).json.added, 120);
    const count = (await titles()).length;
    for (const format of ['md', 'jsonl', 'csv']) {
      const file = await call('GET', `export?format=${format}`);
      const name = file.headers.get('content-disposition')!;
      assert.match(name, new RegExp(`attachment; filename="knowledge.${format}"`));
      const { json } = await importFile({ format, text: file.text, preview: true });
      assert.deepEqual([json.added, json.updated, json.failed, json.unchanged], [0, 0, 0, count]);
      assert.ok(!(await other.get(`/knowledge/export?format=${format}`)).text.includes('Topic'));
    }
  });

  it('a file that is too large, of an unknown format or empty is refused', async () => {
    for (const [format, text, field] of [
      ['md', '# A\nb\n'.repeat(1001), 'text'],
      ['xls', 'x', 'format'],
      ['md', ' ', 'text'],
    ] as const)
      assertError(await importFile({ format, text }), 422, 'VALIDATION_ERROR', field);
    const text = `# A\n${'b'.repeat(1_100_000)}`;
    assertError(await importFile({ format: 'md', text }), 413, 'PAYLOAD_TOO_LARGE');
  });

  it('a file with wordings adds those that are missing; the others stay', async () => {
    const known = { title: 'Is it organic?', body: 'Yes, all of it.' };
    const id = await make({ question: known.title, answer: known.body });
    await call('POST', `${id}/wordings`, { body: { text: 'Any kiwi pesticides?' } });
    const added = { title: 'New here', body: 'Text.', wordings: ['A kakapo?', 'a KAKAPO', 'New here!'] };
    const file = [added, { ...known, wordings: ['Any kiwi pesticide', 'Is the weka clean?'] }];
    assert.deepEqual(await importLines(file), { added: 1, updated: 1, unchanged: 0, failed: 0 });
    assert.deepEqual(await textsOf(id), ['Is the weka clean?', 'Any kiwi pesticides?']);
    assert.equal((await read(id)).version, 1);
    const [created] = await found('kakapo');
    const { wordings } = await read(created!);
    assert.deepEqual(
      wordings.map(({ text, user_id }: { text: string; user_id: unknown }) => [text, user_id]),
      [['A kakapo?', null]],
    );
    // The same file changes nothing; without wordings they stay, and a new body keeps them in the index.
    assert.equal((await importLines(file)).unchanged, 2);
    assert.equal((await importLines([{ ...known, body: 'Not the filters.' }])).updated, 1);
    assert.deepEqual([await found('weka'), await found('kiwi')], [[id], [id]]);
  });
});
