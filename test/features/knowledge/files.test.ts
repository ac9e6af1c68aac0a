import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createKey } from '../../support/machineKeys.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

onEachEngine('new documents and files of documents', (engine) => {
  const { deskbell, tokens, call } = useKnowledge(engine);
  const titles = async (token = tokens.aurora) =>
    (await call('GET', '?limit=1000', { token })).json.map(
      ({ title }: { title: string }) => title,
    ) as string[];
  const importFile = (body: object, token = tokens.aurora) => call('POST', 'import', { token, body });

  it('a document can be written by hand, and its author is known', async () => {
    const body = { title: '  Gift\ncards ', body: 'From 20 euros.' };
    const made = await call('POST', '', { body });
    assert.equal(made.status, 200, made.text);
    assert.equal(made.json.title, 'Gift cards');
    assert.equal(made.headers.get('etag'), `"${made.json.id}-1"`);
    const { versions } = (await call('GET', String(made.json.id))).json;
    assert.equal(versions[0].user_name, 'Alma Reyes');
    assert.equal(versions[0].what, 'edit');
    assert.equal((await call('GET', String(made.json.id), { token: tokens.borealis })).status, 404);
    for (const [wrong, field] of [
      [{ title: ' ', body: 'x' }, 'title'],
      [{ title: 'x' }, 'body'],
      [{ title: 'x', body: 'x', notification_id: 'x' }, 'notification_id'],
    ] as const) {
      assertError(await call('POST', '', { body: wrong }), 422, 'VALIDATION_ERROR', field);
    }
  });

  it('a preview tells what an import would do, and writes nothing', async () => {
    await call('POST', '', { body: { title: 'Gift vouchers', body: 'From 20 euros.' } });
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
    assert.deepEqual(
      { added, updated, unchanged, failed },
      { added: 1, updated: 1, unchanged: 0, failed: 2 },
    );
    assert.deepEqual(await titles(), before);

    const done = await importFile({ format: 'csv', text });
    assert.deepEqual(
      { ...done.json, problems: [] },
      { added: 1, updated: 1, unchanged: 0, failed: 2, problems: [], documents: [] },
    );
    const again = await importFile({ format: 'csv', text, preview: true });
    assert.deepEqual([again.json.added, again.json.updated, again.json.unchanged], [0, 0, 2]);
    const [made] = (await call('GET', `?q=${encodeURIComponent('open today')}`)).json;
    const detail = (await call('GET', String(made.id))).json;
    assert.equal(detail.body, 'From 10 to 19.\nNot on Sundays.');
    assert.equal(detail.wordings.length, 2);
    assert.equal(detail.versions[0].user_name, 'Alma Reyes');
  });

  it('Markdown, JSON Lines and a JSON array are read, too, with the lines of what is wrong', async () => {
    const md = await importFile({ format: 'md', text: 'x\n# A\n\nOne.\n# B\n', preview: true });
    assert.equal(md.json.added, 1);
    assert.deepEqual(
      md.json.problems.map(({ line }: { line: number }) => line),
      [1, 5],
    );
    const lines = await importFile({
      format: 'jsonl',
      text: '{"title":"A","body":"One."}\n{x',
      preview: true,
    });
    assert.deepEqual([lines.json.added, lines.json.problems[0].line], [1, 2]);
    const text = JSON.stringify([{ title: 'A', body: 'One.' }, { title: 'B' }, 3], null, 2);
    const array = await importFile({ format: 'jsonl', text, preview: true });
    assert.equal(array.json.added, 1);
    assert.deepEqual(
      array.json.problems.map(({ line }: { line: number }) => line),
      [2, 3],
    );
    const csv = await importFile({ format: 'csv', text: 'question,answer\na,b', preview: true });
    assert.equal(csv.json.problems[0].problem, 'the first line must name the columns title and body');
  });

  for (const format of ['md', 'jsonl', 'csv']) {
    it(`an export as ${format} can be imported again and changes nothing`, async () => {
      const file = await call('GET', `export?format=${format}`);
      assert.equal(file.status, 200, file.text);
      assert.match(
        file.headers.get('content-disposition')!,
        new RegExp(`attachment; filename="knowledge.${format}"`),
      );
      const { json } = await importFile({ format, text: file.text, preview: true });
      assert.deepEqual([json.added, json.updated, json.failed], [0, 0, 0]);
      assert.equal(json.unchanged, (await titles()).length);
      const other = await call('GET', `export?format=${format}`, { token: tokens.borealis });
      assert.ok(!other.text.includes('Gift cards') && other.text.includes('Returns and refunds'));
    });
  }

  it('an export has every page, and a file that is too large is refused', async () => {
    const many = Array.from({ length: 120 }, (_, n) => `# Topic ${n}\n\nText ${n}.\n`).join('\n');
    const { json } = await importFile({ format: 'md', text: many }, tokens.borealis);
    assert.equal(json.added, 120);
    const file = await call('GET', 'export', { token: tokens.borealis });
    const found = file.text.split('\n').filter((line) => line.startsWith('# Topic '));
    assert.equal(new Set(found).size, 120);
    const tooMany = '# A\nb\n'.repeat(1001);
    assertError(await importFile({ format: 'md', text: tooMany }), 422, 'VALIDATION_ERROR', 'text');
    const large = await importFile({ format: 'md', text: `# A\n${'b'.repeat(1_100_000)}` });
    assertError(large, 413, 'PAYLOAD_TOO_LARGE');
    assert.match(large.json.detail, /1024 KiB/);
    assertError(await importFile({ format: 'xls', text: 'x' }), 422, 'VALIDATION_ERROR', 'format');
    assertError(await importFile({ format: 'md', text: ' ' }), 422, 'VALIDATION_ERROR', 'text');
    assertError(await call('GET', 'export?format=xls'), 422, 'VALIDATION_ERROR', 'format');
  });

  it('a key that may only read cannot write or import', async () => {
    const token = await createKey(deskbell, ['knowledge:read']);
    assert.equal((await call('GET', 'export', { token })).status, 200);
    const text = '# A\n\nb';
    assertError(await importFile({ format: 'md', text }, token), 403, 'INSUFFICIENT_SCOPE');
    const body = { title: 'A', body: 'b' };
    assertError(await call('POST', '', { token, body }), 403, 'INSUFFICIENT_SCOPE');
  });
});
