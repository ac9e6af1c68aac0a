import { loadPhoneNumbers } from '../delivery/phone.ts';

/** By what a person is found in texts. */
export interface Person {
  conversationIds: number[];
  phones: string[];
  names: string[];
  references: string[];
  /** The channels that messages to the person went through. */
  channelIds: string[];
}

export interface Redaction {
  /** Without number and full name: for texts that have nothing else to do with the person. */
  everywhere: (text: string) => string;
  /** Also without each part of the name: for texts that were written for the person. */
  closely: (text: string) => string;
}

const REPLACEMENT = '…';
/** What people write between digits. */
const BETWEEN = '[\\s().\\-/\\u00a0\\u2009\\u202f]{0,3}';
const DIGITS_MIN = 6;
const PART_LENGTH_MIN = 3;

export function redactionOf({ phones, names, references }: Person): Redaction {
  const numbers = phones.flatMap(phonePattern);
  const words = (texts: readonly string[], flags: string) =>
    texts.map((text) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(text)}(?![\\p{L}\\p{N}])`, flags));
  const full = names.filter((name) => /\p{L}.*\s.*\p{L}/su.test(name));
  const parts = [...new Set(names.flatMap((name) => [name, ...name.split(/\s+/)]))].filter(
    (part) => [...part].length >= PART_LENGTH_MIN && /\p{L}/u.test(part),
  );
  const unique = references.filter((reference) => reference.length >= DIGITS_MIN);
  const general = [...numbers, ...words([...full, ...unique], 'giu')];
  const close = [...general, ...words(parts, 'gu')];
  const without = (patterns: readonly RegExp[]) => (text: string) =>
    patterns.reduce((rest, pattern) => rest.replace(pattern, REPLACEMENT), text);
  return { everywhere: without(general), closely: without(close) };
}

/** The number in every way that people write it: with or without the country, with spaces, dots or brackets. */
function phonePattern(phone: string): RegExp[] {
  const digits = phone.replace(/\D/g, '');
  if (digits.length < DIGITS_MIN) return [];
  const national = nationalOf(phone) ?? digits;
  const country = digits.endsWith(national) ? digits.slice(0, digits.length - national.length) : '';
  const spaced = (text: string) => [...text].join(BETWEEN);
  const before = country === '' ? '' : `(?:(?:\\+|00)?${BETWEEN}${spaced(country)}${BETWEEN})?`;
  // The national form may begin with a zero of its own.
  return [new RegExp(`(?<!\\d)\\+?${before}\\(?0?\\)?${BETWEEN}${spaced(national)}(?!\\d)`, 'gu')];
}

function nationalOf(phone: string): string | undefined {
  try {
    return loadPhoneNumbers().library.parsePhoneNumberWithError(phone).nationalNumber;
  } catch {
    return undefined;
  }
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
