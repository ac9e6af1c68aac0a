import { loadPhoneNumbers } from '../../delivery/phone.ts';
import { type Entry, type Lookup, NAME_WORDS_MAX, newLookup } from './find.ts';
import { fold, isUnspaced, type Mode } from './fold.ts';

/** By what a person is found. */
export interface Person {
  conversationIds: number[];
  /** As they are stored in columns, and by which the person is found in texts if they can be phone numbers. */
  phones: string[];
  names: string[];
  /** Only as they are stored in columns: a text may have the same word. */
  references: string[];
  /** The channels that messages to the person went through. */
  channelIds: string[];
  /** The documents that learned from the person. */
  documentIds: number[];
  /** The number whose other conversations a worker is still to take. Empty if it has them all. */
  othersWith: string;
  /** A colleague. */
  userId: number;
}

export const NOBODY: Person = {
  ...{ conversationIds: [], phones: [], names: [], references: [], channelIds: [], documentIds: [] },
  ...{ othersWith: '', userId: 0 },
};

/** Of a person. What is above is removed with its own rows, but not searched for elsewhere. */
const PHONES_MAX = 2000;
const NAMES_MAX = 500;
const REFERENCES_MAX = 10_000;

/** With what else is known. */
export function knowing(
  person: Person,
  more: Partial<Record<'phones' | 'names' | 'references' | 'channelIds', readonly string[]>>,
): Person {
  const all = (field: keyof typeof more, max: number) =>
    [...new Set([...person[field], ...(more[field] ?? []).filter((text) => text !== '')])].slice(0, max);
  return {
    ...person,
    phones: all('phones', PHONES_MAX),
    names: all('names', NAMES_MAX),
    references: all('references', REFERENCES_MAX),
    channelIds: all('channelIds', PHONES_MAX),
  };
}

const NUMBER_DIGITS = { min: 8, max: 15 };
const WORD_LENGTH_MIN = 3;

/**
 * `closely` is for texts that come from the person's own questions: names in every way of writing, and each part of them.
 * `as written` is for all others: only full names.
 */
export async function lookupOf(
  { phones, names }: Pick<Person, 'phones' | 'names'>,
  mode: Mode,
  pause: () => Promise<void>,
): Promise<Lookup> {
  const lookup = newLookup(mode);
  for (const name of names) {
    addName(lookup, name);
    await pause();
  }
  for (const phone of phones) {
    addPhone(lookup, phone);
    await pause();
  }
  return lookup;
}

/** The same without some names and numbers. */
export function lookupWithout(lookup: Lookup, ordinary: ReadonlySet<string>): Lookup {
  const others = (entries: Map<string, Entry>) =>
    new Map([...entries].filter(([, { what }]) => !ordinary.has(what)));
  const { names, unspaced, numbers } = lookup;
  return { ...lookup, names: others(names), unspaced: others(unspaced), numbers: others(numbers) };
}

const lengthOf = (text: string) => [...text].length;
const lettersIn = (text: string) => lengthOf(text.replace(/\P{L}/gu, ''));

function addName(lookup: Lookup, name: string): void {
  const isClose = lookup.mode === 'closely';
  if (isUnspaced(name)) {
    const whole = fold(name, lookup.mode).text.replaceAll(' ', '');
    if (lettersIn(name) >= (isClose ? 2 : WORD_LENGTH_MIN)) addUnspaced(lookup, whole, name);
    // The family name comes first.
    if (isClose && lettersIn(name) >= WORD_LENGTH_MIN)
      addUnspaced(lookup, [...whole].slice(1).join(''), name);
    return;
  }
  if (isClose ? lettersIn(name) > 1 : isFullName(name)) {
    const words = fold(name.trim(), lookup.mode).text.split(' ');
    if (words.length > 1 && words.length <= NAME_WORDS_MAX) {
      const [last, rest] = [words.at(-1), words.slice(0, -1).join(' ')];
      for (const order of [words.join(' '), `${last} ${rest}`, `${last}, ${rest}`])
        addWords(lookup, order, { what: name });
    }
  }
  if (isClose) for (const part of closeParts(name)) addPart(lookup, part, name);
}

/** Each length is looked up at each place of a text. */
const UNSPACED_LENGTH_MAX = 40;

function addUnspaced({ unspaced, lengths }: Lookup, key: string, what: string): void {
  if (key.length > UNSPACED_LENGTH_MAX) return;
  unspaced.set(key, { what });
  lengths.add(key.length);
}

function addWords({ names, firstWords }: Lookup, key: string, entry: Entry): void {
  const [first = ''] = /[\p{L}\p{N}\p{M}]+/u.exec(key) ?? [];
  if (!key.startsWith(first)) return;
  names.set(key, entry);
  firstWords.add(first);
}

/** A short one only as it is written: "An" is a name, "an" is not. */
function addPart(lookup: Lookup, part: string, what: string): void {
  const isShort = lengthOf(part) < WORD_LENGTH_MIN;
  addWords(lookup, fold(part, lookup.mode).text, {
    what,
    ...(isShort ? { written: [part, part.toUpperCase()] } : {}),
  });
}

/**
 * Two words or more, each with two letters or more, so that it hardly means anything else. Where there are capital
 * letters, two words begin with one: "to the" is no name.
 */
function isFullName(name: string): boolean {
  const words = name.trim().split(/[\s\p{Cf}]+/u);
  if (words.length < 2 || words.some((word) => lettersIn(word) < 2)) return false;
  const hasCase = /[\p{Lu}\p{Ll}\p{Lt}]/u.test(name);
  return !hasCase || words.filter((word) => /^\P{L}*[\p{Lu}\p{Lt}]/u.test(word)).length > 1;
}

/** The words by which the person may be called. Small words between capital ones (van, de) are in many texts. */
function closeParts(name: string): string[] {
  const parts = name.normalize('NFC').match(/[\p{L}\p{N}\p{M}\p{Cf}]+/gu) ?? [];
  const named = parts.filter((part) => lettersIn(part) > 1);
  const isNamelike = (part: string) => !/^\p{Ll}/u.test(part);
  const chosen = named.some(isNamelike) ? named.filter(isNamelike) : named;
  return chosen.filter((part) => lengthOf(part) >= WORD_LENGTH_MIN || isNamelike(part));
}

/** In every way that people write it: with or without the country. Nothing if it can be no phone number. */
export function addPhone({ numbers }: Pick<Lookup, 'numbers'>, phone: string): void {
  for (const digits of waysToWrite(phone))
    if (digits.length >= NUMBER_DIGITS.min) numbers.set(digits, { what: phone });
}

/** Longer texts are no numbers, however many digits they have. */
const TEXT_LENGTH_MAX = 64;
export const isPhoneText = (text: string) => text.length <= TEXT_LENGTH_MAX;

function waysToWrite(phone: string): string[] {
  if (!isPhoneText(phone)) return [];
  const written = fold(phone, 'as written').text;
  const digits = written.replace(/\D/g, '').replace(/^00/, '');
  if (digits.length < NUMBER_DIGITS.min || digits.length > NUMBER_DIGITS.max) return [];
  const national = nationalOf(/^\D*(?:\+|00)/.test(written) ? `+${digits}` : written);
  if (national === undefined || !digits.endsWith(national))
    return [digits, `00${digits}`, `0${digits}`, digits.replace(/^0/, '')];
  const country = digits.slice(0, digits.length - national.length);
  const ways = [digits, `00${digits}`, `${country}0${national}`, `00${country}0${national}`];
  // A shorter one may be a date or a price.
  return national.length < NUMBER_DIGITS.min ? ways : [...ways, national, `0${national}`];
}

function nationalOf(phone: string): string | undefined {
  try {
    return loadPhoneNumbers().library.parsePhoneNumberWithError(phone).nationalNumber;
  } catch {
    return undefined;
  }
}
