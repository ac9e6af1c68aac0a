import type { PersonName } from '../../auth/people.ts';

/** More are not looked up: a text of 4,000 characters may be full of them. */
const LOOKED_UP_MAX = 50;
const NAME_WORDS_MAX = 6;
const NAME_LENGTH_MAX = 200;

/** Without case and accents. */
const folded = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** An address such as me@shop.example mentions nobody. */
const MARK = /(?<![\p{L}\p{N}._-])@(?=[\p{L}\p{N}])/gu;

/** The ids of the people whom a text calls by @name or @first name. A name that several have calls nobody. */
export function findMentions(text: string, people: readonly PersonName[]): number[] {
  const byName = new Map<string, number | 'several'>();
  const add = (name: string, id: number) =>
    byName.set(name, byName.has(name) && byName.get(name) !== id ? 'several' : id);
  for (const { id, name } of people) {
    const words = folded(name.slice(0, NAME_LENGTH_MAX)).slice(0, NAME_WORDS_MAX);
    // The full name, and the first one.
    for (const called of new Set([words.join(' '), words[0] ?? ''])) if (called !== '') add(called, id);
  }
  const found = new Set<number>();
  const marks = [...text.matchAll(MARK)].slice(0, LOOKED_UP_MAX);
  for (const { index } of marks) {
    const words = folded(text.slice(index + 1, index + 1 + NAME_LENGTH_MAX));
    for (let count = Math.min(NAME_WORDS_MAX, words.length); count > 0; count -= 1) {
      const id = byName.get(words.slice(0, count).join(' '));
      if (id === undefined) continue;
      if (id !== 'several') found.add(id);
      break;
    }
  }
  return [...found];
}

/** The text with another name after each @ that stands before this one. */
export function replaceMentions(
  text: string,
  { name, to, firstNameToo }: { name: string; to: string; firstNameToo: boolean },
): string {
  const called = folded(name.slice(0, NAME_LENGTH_MAX)).slice(0, NAME_WORDS_MAX);
  if (called.length === 0) return text;
  let result = '';
  let last = 0;
  for (const { index } of text.matchAll(MARK)) {
    if (index < last) continue;
    const after = text.slice(index + 1, index + 1 + NAME_LENGTH_MAX);
    const words = [...after.matchAll(/[\p{L}\p{N}\p{M}]+/gu)].slice(0, called.length);
    const isCalled = (count: number) =>
      words.length >= count &&
      words.slice(0, count).every(([word], at) => folded(word).join('') === called[at]);
    const count = isCalled(called.length) ? called.length : firstNameToo && isCalled(1) ? 1 : 0;
    if (count === 0) continue;
    const { 0: word, index: at } = words[count - 1]!;
    result += `${text.slice(last, index)}@${to}`;
    last = index + 1 + at + word.length;
  }
  return result + text.slice(last);
}
