import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatDocuments, parseDocuments } from './files.ts';

const DOCUMENTS = [
  { title: 'Opening hours', body: 'From 10 to 19.\n\n## Sundays\nClosed.' },
  { title: 'Código “QR” 緑茶', body: '# not a title\n\\# neither\n#tag' },
];

describe('a file of documents', () => {
  it('has one for each line that begins with “# ” in Markdown', () => {
    const text =
      '\ufeff\r\n# Opening hours\r\n\r\nFrom 10 to 19.\r\n\r\n## Sundays\r\nClosed.\r\n# Returns\nWithin 30 days.';
    assert.deepEqual(parseDocuments(text, 'md'), [
      { line: 2, content: { title: 'Opening hours', body: 'From 10 to 19.\n\n## Sundays\nClosed.' } },
      { line: 8, content: { title: 'Returns', body: 'Within 30 days.' } },
    ]);
  });

  it('has one for each line in JSON Lines', () => {
    const text =
      '{"title":" Opening\\nhours ","body":"From 10 to 19.","other":1}\n\n{"title":"B","body":"C"}\n';
    assert.deepEqual(parseDocuments(text, 'jsonl'), [
      { line: 1, content: { title: 'Opening hours', body: 'From 10 to 19.' } },
      { line: 3, content: { title: 'B', body: 'C' } },
    ]);
  });

  it('is refused with the line and the reason, but without its content', () => {
    assert.deepEqual(parseDocuments('Preface\nmore\n# Empty\n\n# \nBody\n# Good\nText', 'md'), [
      { line: 1, problem: 'text before the first title' },
      { line: 3, problem: 'body must not be blank' },
      { line: 5, problem: 'title must not be blank' },
      { line: 7, content: { title: 'Good', body: 'Text' } },
    ]);
    const lines = [
      '[]',
      '{secret',
      '{"title":1,"body":"x"}',
      '{"title":"x"}',
      `{"title":"${'x'.repeat(201)}","body":"x"}`,
    ];
    assert.deepEqual(
      parseDocuments(lines.join('\n'), 'jsonl').map((document) => 'problem' in document && document.problem),
      [
        'the line is not a JSON object',
        'the line is not valid JSON',
        'title must be a string',
        'body must be a string',
        'title must not have more than 200 characters',
      ],
    );
  });

  it('has wordings in JSON Lines only, and reports those that are invalid', () => {
    const documents = [
      { title: 'Hours', body: 'At nine.', wordings: ['When do you open?', 'Open on Sundays?'] },
      { title: 'Other', body: 'Text.' },
    ];
    const text = formatDocuments([...documents.slice(0, 1), { ...documents[1]!, wordings: [] }], 'jsonl');
    assert.deepEqual(
      parseDocuments(text, 'jsonl').map((document) => 'content' in document && document.content),
      documents,
    );
    assert.doesNotMatch(formatDocuments(documents, 'md'), /Sundays/);
    const problemOf = (wordings: unknown) => {
      const [document] = parseDocuments(JSON.stringify({ title: 'T', body: 'B', wordings }), 'jsonl');
      return document && 'problem' in document ? document.problem : undefined;
    };
    assert.equal(problemOf('When?'), 'wordings must be an array of strings');
    assert.equal(problemOf([5]), 'a wording must be a string');
    assert.equal(problemOf([' ']), 'a wording must not be blank');
    assert.equal(problemOf(['x'.repeat(201)]), 'a wording must not have more than 200 characters');
    assert.equal(problemOf(Array(101).fill('x')), 'wordings must not have more than 100 elements');
    assert.equal(problemOf(null), undefined);
  });

  it('has no documents if it is empty', () => {
    for (const format of ['md', 'jsonl'] as const) {
      assert.deepEqual(parseDocuments('', format), []);
      assert.equal(formatDocuments([], format), '');
    }
  });

  it('is read only as far as its documents are wanted', () => {
    const endless = { md: '# \n', jsonl: 'x\n', csv: 'title,body\n' };
    for (const format of ['md', 'jsonl', 'csv'] as const) {
      assert.equal(parseDocuments(endless[format].repeat(50_000), format, 3).length, 3);
    }
    assert.equal(parseDocuments(`[${'1,'.repeat(50_000)}1]`, 'jsonl', 3).length, 3);
  });

  it('has no formula that a spreadsheet would run, and is imported exactly as it was exported', () => {
    const texts = ['=1+1', '+34', '-1', '@SUM(1)', "'=1", "''=1", "'quoted'", 'a=b', '= "x", y'];
    const documents = texts.map((title) => ({ title, body: `${title}!`, wordings: [title, 'Other?'] }));
    const csv = formatDocuments(documents, 'csv');
    assert.deepEqual(
      parseDocuments(csv, 'csv').map((document) => 'content' in document && document.content),
      documents,
    );
    assert.doesNotMatch(csv, /(^|,)"?[=+@-]/m);
  });

  it('is imported exactly as it was exported', () => {
    for (const format of ['md', 'jsonl'] as const) {
      const contents = (text: string) =>
        parseDocuments(text, format).map((document) => 'content' in document && document.content);
      assert.deepEqual(contents(formatDocuments(DOCUMENTS, format)), DOCUMENTS);
      const lines = fc.array(fc.constantFrom('# a', '\\# a', '\\\\# b', '#', '```', 'text', ''), {
        minLength: 1,
      });
      fc.assert(
        fc.property(lines, (body) => {
          const documents = [
            { title: 'One', body: `x\n${body.join('\n')}\ny` },
            { title: 'Two', body: 'z' },
          ];
          assert.deepEqual(contents(formatDocuments(documents, format)), documents);
        }),
      );
    }
  });
});
