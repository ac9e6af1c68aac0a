import { loadPhoneNumbers } from '../delivery/phone.ts';

/** By what a person is found in texts. */
export interface Person {
  conversationIds: number[];
  phones: string[];
  names: string[];
  references: string[];
  /** The channels that messages to the person went through. */
  channelIds: string[];
  /** The documents that learned from the person. */
  documentIds: number[];
}

export const NOBODY: Person = {
  ...{ conversationIds: [], phones: [], names: [], references: [], channelIds: [], documentIds: [] },
};

export interface Redaction {
  /** Without number and full name: they mean nobody else. */
  certainly: (text: string) => string;
  /** Also without a name that is only one word: for texts that have nothing else to do with the person. */
  everywhere: (text: string) => string;
  /** Also without each part of the name: for texts that were written for the person. */
  closely: (text: string) => string;
}

const REPLACEMENT = '…';
const DIGITS_MIN = 6;
const REFERENCE_LENGTH_MIN = 6;
const WORD_LENGTH_MIN = 3;

/** `ordinary` has the names of one word that the merchant also uses for other things. */
export function redactionOf(
  { phones, names, references }: Person,
  ordinary: ReadonlySet<string> = new Set(),
): Redaction {
  const full = names.filter(isFull).flatMap(fullPatterns);
  const unique = references.filter(({ length }) => length >= REFERENCE_LENGTH_MIN);
  const certain = [
    ...phones.flatMap(phonePattern),
    ...full,
    ...unique.map((one) => wordOf(escaped(one), 'giu')),
  ];
  const words = singleNames(names).filter((name) => !ordinary.has(name));
  const general = [...certain, ...words.map((word) => wordOf(anyCase(word), 'gu'))];
  const close = [...general, ...names.flatMap(closeParts).map((part) => wordOf(anyCase(part), 'gu'))];
  const without = (patterns: readonly RegExp[]) => (text: string) =>
    patterns.reduce((rest, pattern) => rest.replace(pattern, REPLACEMENT), text);
  return { certainly: without(certain), everywhere: without(general), closely: without(close) };
}

/** Names of one word, which may be an ordinary word, too. */
export const singleNames = (names: readonly string[]): string[] =>
  names.filter((name) => {
    const [first = '', ...others] = partsOf(name);
    return (
      others.length === 0 && !isUnspaced(first) && lengthOf(first) >= WORD_LENGTH_MIN && hasLetter(first)
    );
  });

/** Whether a text has this word, in small or capital letters. */
export function hasWord(word: string): (text: string) => boolean {
  const pattern = wordOf(escaped(word.trim()), 'iu');
  return (text) => pattern.test(text);
}

/** Scripts that have no spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const isUnspaced = (text: string) => UNSPACED.test(text);
const hasLetter = (text: string) => /\p{L}/u.test(text);
const lengthOf = (text: string) => [...text].length;

const partsOf = (name: string): string[] =>
  name
    .normalize('NFC')
    .split(/[\s\p{Pd}\p{Cf}]+/u)
    .filter((part) => part !== '');

/** A first and a last name, or a name in a script in which both are one word. */
function isFull(name: string): boolean {
  const parts = partsOf(name).filter(hasLetter);
  return parts.length > 1 || (isUnspaced(name) && lengthOf(name.trim()) > 1);
}

/** Between the parts of a name: spaces of any kind and number, hyphens, and marks that nobody sees. */
const BETWEEN_PARTS = '[\\s\\p{Pd}\\p{Cf}]+';

/** The parts in this order, and the last one first. */
function fullPatterns(name: string): RegExp[] {
  if (isUnspaced(name)) return [new RegExp([...partsOf(name).join('')].map(escaped).join('\\s*'), 'giu')];
  const parts = partsOf(name).map(eitherForm);
  const reversed = `${parts.at(-1)},?${BETWEEN_PARTS}${parts.slice(0, -1).join(BETWEEN_PARTS)}`;
  return [wordOf(parts.join(BETWEEN_PARTS), 'giu'), wordOf(reversed, 'giu')];
}

/** The words of a name by which the person may be called. Small words between capital ones (van, de) are in many texts. */
function closeParts(name: string): string[] {
  const parts = partsOf(name).filter(hasLetter);
  if (isUnspaced(name)) return lengthOf(name.trim()) > 2 ? [[...parts.join('')].slice(1).join('')] : [];
  const isNamelike = (part: string) => !/^\p{Ll}/u.test(part);
  const chosen = parts.some(isNamelike) ? parts.filter(isNamelike) : parts;
  return chosen.filter(
    (part) => lengthOf(part) >= WORD_LENGTH_MIN || (lengthOf(part) > 1 && isNamelike(part)),
  );
}

/** As it is written, with a capital letter first, and in capital letters. A short one only as it is written. */
function anyCase(word: string): string {
  if (lengthOf(word) < WORD_LENGTH_MIN) return eitherForm(word);
  const [first = '', ...rest] = [...word];
  const capital = first.toUpperCase() + rest.join('').toLowerCase();
  return `(?:${[...new Set([word, capital, word.toUpperCase()])].map(eitherForm).join('|')})`;
}

/** An accent is a part of its letter, or a character of its own. */
function eitherForm(text: string): string {
  const forms = new Set([text, text.normalize('NFC'), text.normalize('NFD')]);
  return forms.size === 1 ? escaped(text) : `(?:${[...forms].map(escaped).join('|')})`;
}

/** `source` as a word of its own, or anywhere in a script without spaces. */
function wordOf(source: string, flags: string): RegExp {
  if (isUnspaced(source)) return new RegExp(source, flags);
  return new RegExp(`(?<![\\p{L}\\p{N}])${source}(?![\\p{L}\\p{N}\\p{M}])`, flags);
}

/** What people write between digits, and the marks that programs add. */
const BETWEEN_DIGITS = '[\\s().\\p{Pd}/\\u2212\\p{Cf}]{0,4}';
/** Where the digits of scripts begin that write numbers with their own. */
const ZEROS = [0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xff10];
const digitOf = (digit: string) =>
  `[${ZEROS.map((zero) => String.fromCodePoint(zero + Number(digit))).join('')}]`;

/** With the digits 0 to 9. */
const withDigits = (text: string) =>
  text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!;
    const zero = ZEROS.find((first) => code >= first && code < first + 10);
    return zero === undefined ? digit : String(code - zero);
  });

/** The number in every way that people write it: with or without the country, with spaces, dots, dashes or brackets. */
function phonePattern(given: string): RegExp[] {
  const phone = withDigits(given);
  const digits = phone.replace(/\D/g, '');
  if (digits.length < DIGITS_MIN) return [];
  const national = nationalOf(phone) ?? digits;
  const country = digits.endsWith(national) ? digits.slice(0, digits.length - national.length) : '';
  const spaced = (text: string) => [...text].map(digitOf).join(BETWEEN_DIGITS);
  const zero = digitOf('0');
  const plus = `(?:[+＋]|${zero}${zero})${BETWEEN_DIGITS}`;
  const before = country === '' ? '[+＋]?' : `(?:(?:${plus})?${spaced(country)}${BETWEEN_DIGITS})?`;
  // The national form may begin with a zero of its own.
  const trunk = `(?:\\(?${zero}\\)?${BETWEEN_DIGITS})?`;
  return [new RegExp(`(?<!\\p{Nd})${before}${trunk}${spaced(national)}(?!\\p{Nd})`, 'gu')];
}

function nationalOf(phone: string): string | undefined {
  try {
    return loadPhoneNumbers().library.parsePhoneNumberWithError(phone).nationalNumber;
  } catch {
    return undefined;
  }
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
