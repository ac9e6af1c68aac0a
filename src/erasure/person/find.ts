import { type Folded, fold, hasUnspaced, type Mode } from './fold.ts';

/**
 * Finds a person's names and numbers in a text. Each text is read once: its words and digits are looked up in maps, so
 * the time does not grow with the names and numbers. No pattern is built from data.
 */

export interface Entry {
  /** The name or the number it stands for. */
  what: string;
  /** Only if it is written in one of these ways. */
  written?: readonly string[];
}

export interface Lookup {
  mode: Mode;
  /** Folded, by words. */
  names: Map<string, Entry>;
  /** Their first words. */
  firstWords: Set<string>;
  /** Of scripts without spaces: folded, without spaces. */
  unspaced: Map<string, Entry>;
  lengths: Set<number>;
  /** Digits only. */
  numbers: Map<string, Entry>;
}

export const newLookup = (mode: Mode): Lookup => ({
  ...{ mode, names: new Map(), firstWords: new Set(), unspaced: new Map(), lengths: new Set() },
  numbers: new Map(),
});

interface Found {
  start: number;
  end: number;
  what: string;
}

export const NAME_WORDS_MAX = 8;
/** With a country, and two zeros before it and one after it. */
const NUMBER_DIGITS = { min: 8, max: 18 };
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const DIGITS = /\d+/g;
const BETWEEN_WORDS = new Set([' ', ', ', '. ']);
const BETWEEN_DIGITS = /^[ ().+/]{1,4}$/;
/** "And", "for", "with", "like" and "the" are written together with an Arabic name. */
const ARABIC_PREFIX = new Set('وفبكلا');
const PREFIX_LENGTH_MAX = 3;

interface Span {
  start: number;
  end: number;
}

export function findIn(text: string, lookup: Lookup): Found[] {
  const folded = fold(text, lookup.mode);
  const found: Found[] = [];
  const add = ({ start, end }: Span, { what, written }: Entry) => {
    const place = { start: folded.starts[start]!, end: folded.ends[end - 1]! };
    if (written && !written.includes(text.slice(place.start, place.end))) return;
    found.push({ ...place, what });
  };
  if (lookup.names.size > 0) findNames(folded, lookup, add);
  if (lookup.unspaced.size > 0 && hasUnspaced(folded.text)) findUnspaced(folded, lookup, add);
  if (lookup.numbers.size > 0) findNumbers(folded, lookup, add);
  return found;
}

type Add = (span: Span, entry: Entry) => void;

const spansOf = (text: string, pattern: RegExp): Span[] =>
  Array.from(text.matchAll(pattern), ({ 0: { length }, index }) => ({ start: index, end: index + length }));

function findNames({ text }: Folded, { names, firstWords }: Lookup, add: Add): void {
  const words = spansOf(text, WORD);
  for (let first = 0; first < words.length; first += 1) {
    const { start, end } = words[first]!;
    for (const from of startsOf(text, start, end)) {
      if (!firstWords.has(text.slice(from, end))) continue;
      let longest: { last: number; entry: Entry } | undefined;
      for (let last = first; last < first + NAME_WORDS_MAX && last < words.length; last += 1) {
        if (last > first && !BETWEEN_WORDS.has(text.slice(words[last - 1]!.end, words[last]!.start))) break;
        const entry = names.get(text.slice(from, words[last]!.end));
        if (entry) longest = { last, entry };
      }
      if (!longest) continue;
      add({ start: from, end: words[longest.last]!.end }, longest.entry);
      first = longest.last;
      break;
    }
  }
}

/** The beginning of a word, and what follows an Arabic prefix. */
function startsOf(text: string, start: number, end: number): number[] {
  const starts = [start];
  for (let at = start; at < Math.min(start + PREFIX_LENGTH_MAX, end - 1); at += 1) {
    if (!ARABIC_PREFIX.has(text[at]!)) break;
    starts.push(at + 1);
  }
  return starts;
}

function findUnspaced({ text }: Folded, { unspaced, lengths }: Lookup, add: Add): void {
  const longestFirst = [...lengths].sort((a, b) => b - a);
  let run = '';
  let places: number[] = [];
  const look = () => {
    for (let at = 0; at < run.length; at += 1) {
      for (const length of longestFirst) {
        const entry = unspaced.get(run.slice(at, at + length));
        if (!entry) continue;
        add({ start: places[at]!, end: places[at + length - 1]! + 1 }, entry);
        at += length - 1;
        break;
      }
    }
    [run, places] = ['', []];
  };
  for (let at = 0; at < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(at)!);
    if (hasUnspaced(character)) {
      run += character;
      for (let unit = 0; unit < character.length; unit += 1) places.push(at + unit);
    } else if (character !== ' ') look();
    at += character.length;
  }
  look();
}

function findNumbers({ text }: Folded, { numbers }: Lookup, add: Add): void {
  const groups = spansOf(text, DIGITS);
  for (let first = 0; first < groups.length; first += 1) {
    let digits = '';
    let longest: { last: number; entry: Entry } | undefined;
    for (let last = first; last < groups.length; last += 1) {
      const { start, end } = groups[last]!;
      if (digits.length + end - start > NUMBER_DIGITS.max) break;
      if (last > first && !BETWEEN_DIGITS.test(text.slice(groups[last - 1]!.end, start))) break;
      digits += text.slice(start, end);
      const entry = digits.length < NUMBER_DIGITS.min ? undefined : numbers.get(digits);
      if (entry) longest = { last, entry };
    }
    if (!longest) continue;
    const end = groups[longest.last]!.end;
    add({ start: withMarks(text, groups[first]!.start, end), end }, longest.entry);
    first = longest.last;
  }
}

/** The plus sign before a number, and a bracket that is closed within it. */
function withMarks(text: string, start: number, end: number): number {
  let from = start;
  if (text[from - 1] === '+') from -= 1;
  const inside = text.slice(from, end);
  if (text[from - 1] === '(' && /^[^()]*\)/.test(inside)) from -= 1;
  return text[from - 1] === '+' ? from - 1 : from;
}

const REPLACEMENT = '…';

function replaceIn(text: string, found: readonly Found[]): string {
  if (found.length === 0) return text;
  let result = '';
  let last = 0;
  for (const { start, end } of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (end <= last) continue;
    // Two that overlap are one.
    if (start >= last) result += text.slice(last, start) + REPLACEMENT;
    last = end;
  }
  return result + text.slice(last);
}

/** The text without what the lookup finds. */
export const without = (text: string, lookup: Lookup): string => replaceIn(text, findIn(text, lookup));
