import { queryOf, type Term } from '../../../knowledge/search/words.ts';
import { digitsOf, noteWord, PHONE_DIGITS_MIN, phoneWord } from './texts.ts';

/** At least one term of each. */
type AllOf = readonly (readonly Term[])[];
/** A match contains one alternative of every group. */
export type SearchQuery = readonly (readonly AllOf[])[];

const WORDS_MAX = 16;
/** What people write between the digits of a phone number. */
const NUMBERS = /\+?\p{Nd}[\p{Nd}\s().\-/]*\p{Nd}/gu;

/**
 * What to look for: all words of the text, where the last may be incomplete. A number may also be a part of a phone number,
 * with or without spaces. Undefined if the text has no words.
 */
export function searchQueryOf(text: string, { inNotes }: { inNotes: boolean }): SearchQuery | undefined {
  const wordsOf = (words: string): AllOf =>
    queryOf(words, WORDS_MAX).map((terms) =>
      inNotes ? [...terms, ...terms.map((term) => ({ ...term, word: noteWord(term.word) }))] : terms,
    );
  const groups: AllOf[][] = [];
  const rest = text.replace(NUMBERS, (number) => {
    const digits = digitsOf(number).replace(/^0+/, '');
    if (digits.length < PHONE_DIGITS_MIN) return number;
    groups.push([[[{ word: phoneWord(digits), isPrefix: true }]], wordsOf(number)]);
    return ' ';
  });
  for (const terms of wordsOf(rest)) groups.push([[terms]]);
  return groups.length === 0 ? undefined : groups;
}

/** The marks of a list, added to what is looked for. */
export const withMarks = (query: SearchQuery, marks: readonly string[]): SearchQuery => [
  ...query,
  ...marks.map((word) => [[[{ word }]]]),
];

export function isMatch(query: SearchQuery, words: ReadonlySet<string>): boolean {
  const has = ({ word, isPrefix }: Term) =>
    words.has(word) || (isPrefix === true && [...words].some((one) => one.startsWith(word)));
  return query.every((group) => group.some((alternative) => alternative.every((terms) => terms.some(has))));
}

const SYNTAX = {
  sqlite: { quote: '"', isPrefix: ' *', all: ' AND ', any: ' OR ' },
  postgres: { quote: "'", isPrefix: ':*', all: ' & ', any: ' | ' },
} as const;

/**
 * The query in the engine's own language. Words are quoted and contain only letters, digits and our marks, so a caller's
 * text cannot change it. Each begins with its merchant, as in the index.
 */
export function expressionOf(engine: keyof typeof SYNTAX, merchantId: number, query: SearchQuery): string {
  const { quote, isPrefix: mark, all, any } = SYNTAX[engine];
  const join = (parts: readonly string[], by: string) => `(${parts.join(by)})`;
  const textOf = ({ word, isPrefix }: Term) =>
    `${quote}${merchantId}:${word.replaceAll(/['"\\\s]/g, '')}${quote}${isPrefix ? mark : ''}`;
  const all_ = (alternative: AllOf) =>
    join(
      alternative.map((terms) => join(terms.map(textOf), any)),
      all,
    );
  return join(
    query.map((group) => join(group.map(all_), any)),
    all,
  );
}
