import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createCsvReader } from './csv.ts';
import { createJsonLinesReader, type FileRecord, type RecordReader } from './records.ts';

function readAll(reader: RecordReader, pieces: readonly string[]): FileRecord[] {
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
}
const csv = (...pieces: string[]) =>
  readAll(
    createCsvReader(() => {}),
    pieces,
  );
const good = (line: number, a: string, b: string) => ({ line, fields: { a, b } });

describe('reading CSV', () => {
  const cases: [string, string, FileRecord[]][] = [
    ['plain lines', 'a,b\n1,2\n', [good(2, '1', '2')]],
    ['no newline at the end', 'a,b\n1,2', [good(2, '1', '2')]],
    ['CRLF', 'a,b\r\n1,2\r\n"3","4"\r\n', [good(2, '1', '2'), good(3, '3', '4')]],
    [
      'quotes, commas and newlines in quotes',
      'a,b\n"x,\n""y""",2\n3,4',
      [good(2, 'x,\n"y"', '2'), good(4, '3', '4')],
    ],
    ['empty fields and blank lines', 'a,b\n,\n\n \n"",""\n', [good(2, '', ''), good(5, '', '')]],
    ['semicolons', 'a;b\n1,0;2', [good(2, '1,0', '2')]],
    ['tabs', 'a\tb\n1\t2', [good(2, '1', '2')]],
    ['column names in capitals', ' A , B \n1,2', [good(2, '1', '2')]],
    ['a quote within a field', 'a,b\n1"x",2', [good(2, '1"x"', '2')]],
    ['missing fields', 'a,b\n1', [{ line: 2, fields: { a: '1' } }]],
    ['too many fields', 'a,b\n1,2,3', [{ line: 2, problem: 'the line has 3 fields, the header 2' }]],
    [
      'a quote that is never closed, and continues with the next line',
      'a,b\n"1,2\n3,4\n',
      [{ line: 2, problem: 'a quote is not closed' }, good(3, '3', '4')],
    ],
    [
      'text after a closing quote',
      'a,b\n"1"x,2\n3,4',
      [{ line: 2, problem: 'text follows a closing quote' }, good(3, '3', '4')],
    ],
  ];
  for (const [title, text, expected] of cases) {
    it(`reads ${title}`, () => assert.deepEqual(csv(text), expected));
    it(`reads ${title} character by character`, () => assert.deepEqual(csv(...text), expected));
  }

  it('returns what was written, no matter how the file is split', () => {
    const field = fc.string({
      unit: fc.constantFrom('a', '"', ',', '\n', '\r', ';', ' ', 'é'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(field, field)), fc.integer({ min: 1, max: 9 }), (rows, size) => {
        const quote = (value: string) => `"${value.replaceAll('"', '""')}"`;
        const text = ['a,b', ...rows.map((row) => row.map(quote).join(','))].join('\r\n');
        const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
        const values = csv(...pieces).map((record) => 'fields' in record && Object.values(record.fields));
        assert.deepEqual(values, rows);
      }),
      { numRuns: 300 },
    );
  });

  it('recovers after a stray quote, and holds little of an endless line in memory', () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `${index},x`);
    lines[5] = '"5,x';
    const read = csv(...`a,b\n${lines.join('\n')}`.match(/[\s\S]{1,10000}/g)!);
    assert.equal(read.length, 20_000);
    assert.deepEqual(
      read.filter((record) => 'problem' in record).map(({ line }) => line),
      [7],
    );
    const endless = csv('a,b\n', ...Array.from({ length: 50 }, () => 'y'.repeat(10_000)), '\n1,2\n');
    assert.deepEqual(
      endless.map(({ line }) => line),
      [2, 3],
    );
    assert.deepEqual(endless[1], good(3, '1', '2'));
  });
});

describe('reading JSON Lines', () => {
  it('returns objects with their lines and reports invalid lines', () => {
    const text = '{"a":1}\r\n\n[1]\n{"a"\nnull\n{"a":2}';
    const expected = [
      { line: 1, fields: { a: 1 } },
      { line: 3, problem: 'the line is not a JSON object' },
      { line: 4, problem: 'the line is not valid JSON' },
      { line: 5, problem: 'the line is not a JSON object' },
      { line: 6, fields: { a: 2 } },
    ];
    assert.deepEqual(readAll(createJsonLinesReader(), [text]), expected);
    assert.deepEqual(readAll(createJsonLinesReader(), [...text]), expected);
  });

  it('holds little of an endless line in memory', () => {
    const pieces = [...Array.from({ length: 50 }, () => 'y'.repeat(10_000)), '\n{"a":1}\n'];
    assert.deepEqual(readAll(createJsonLinesReader(), pieces), [
      { line: 1, problem: 'the line is too long' },
      { line: 2, fields: { a: 1 } },
    ]);
  });
});
