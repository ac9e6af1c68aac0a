import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../test/support/anyCharacter.ts';
import { rawMember } from './json.ts';

/** Prints this value as JSON, with white space and escapes chosen by the numbers of `random`. */
function print(value: unknown, random: () => number): string {
  const space = () => ['', '', ' ', '\n', '\t\r\n  '][random() % 5]!;
  const list = (open: string, items: string[], close: string) =>
    open + space() + items.map((item) => space() + item + space()).join(',') + close;
  if (typeof value === 'string') return printText(value, random);
  if (Array.isArray(value))
    return list(
      '[',
      value.map((item) => print(item, random)),
      ']',
    );
  if (value instanceof Members) return list('{', value.texts(random, space), '}');
  if (typeof value === 'object' && value !== null) return print(new Members(Object.entries(value)), random);
  return JSON.stringify(value);
}

function printText(text: string, random: () => number): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  const printed = units.map((unit, at) => {
    const hex = `\\u${unit.toString(16).padStart(4, '0')}`;
    if (random() % 4 === 0) return hex;
    const char = text[at]!;
    if (char === '"' || char === '\\') return `\\${char}`;
    if (char === '/' && random() % 2 === 0) return '\\/';
    return unit < 0x20 || (unit >= 0xd800 && unit <= 0xdfff) ? hex : char;
  });
  return `"${printed.join('')}"`;
}

/** The members of an object in text order. Keys may repeat. */
class Members {
  readonly entries: [string, unknown][];
  /** For each key, the text of the value that JSON.parse uses. */
  readonly taken = new Map<string, string>();

  constructor(entries: [string, unknown][]) {
    this.entries = entries;
  }

  texts(random: () => number, space: () => string): string[] {
    return this.entries.map(([key, value]) => {
      const text = print(value, random);
      this.taken.set(key, text);
      return `${printText(key, random)}${space()}:${space()}${text}`;
    });
  }
}

/**
 * After a key with a backslash in it, V8 may misread a later key that is spelled with an escape
 * (nodejs/node#63785). The comparison with JSON.parse leaves out such keys; they have their own test.
 */
const unit = anyCharacter.filter((char) => char !== '\\');
const key = fc.oneof(
  fc.constantFrom('context', 'contex', '__proto__', 'constructor', '', '0', '"', '{', '}', ':', ','),
  fc.string({ unit, maxLength: 6 }),
);
const value = fc.oneof(
  fc.jsonValue({ stringUnit: unit }),
  fc.string({ unit: fc.constantFrom('\\', '"', '{', '}', '[', ']', ',', ':', '/', 'a') }),
);
const entries = fc.array(fc.tuple(key, value), { maxLength: 8 });
const randomNumbers = fc.infiniteStream(fc.nat(1000));

describe('rawMember', () => {
  it('returns the exact text that JSON.parse reads, for every member of every object', () => {
    fc.assert(
      fc.property(entries, randomNumbers, fc.constantFrom('', ' ', '\r\n\t'), (given, stream, around) => {
        const members = new Members(given);
        const whole = around + print(members, () => stream.next().value) + around;
        const parsed = JSON.parse(whole) as Record<string, unknown>;
        for (const [name, text] of members.taken) {
          assert.equal(rawMember(whole, name), text);
          assert.deepEqual(JSON.parse(text), parsed[name]);
        }
        assert.equal(members.taken.size, Object.keys(parsed).length);
      }),
      { numRuns: 500 },
    );
  });

  it('reads keys with quotes and backslashes in them', () => {
    const rows: [whole: string, name: string, text: string | undefined][] = [
      ['{"\\\\":1,"a":2}', '\\', '1'],
      ['{"\\\\\\"":1,"a":2}', '\\"', '1'],
      ['{"\\u005c":"\\\\","a":2}', '\\', '"\\\\"'],
      ['{"\\\\":1,"\\u0022":{"a":3},"a":2}', 'a', '2'],
      ['{"\\\\u0061":1}', 'a', undefined],
      ['{"a\\\\":1}', 'a', undefined],
    ];
    for (const [whole, name, text] of rows) assert.equal(rawMember(whole, name), text, whole);
  });

  it('finds nothing if the member is missing, even if its name is in a string or a nested object', () => {
    for (const text of [
      '{}',
      ' { } ',
      '{"a":"context"}',
      '{"a":{"context":1}}',
      '{"a":[{"context":1}],"b":"\\"context\\":1"}',
      '{"Context":1,"context ":2,"\\\\u0063ontext":3}',
    ]) {
      assert.equal(rawMember(text, 'context'), undefined, text);
    }
  });
});
