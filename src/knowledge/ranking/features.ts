import anyAscii from 'any-ascii';
import { LRUCache } from 'lru-cache';
import { wordsIn } from '../search/words.ts';

/**
 * What two texts are compared by: their words, the stems of their words, runs of two to four letters, and runs of
 * consonants. The runs of letters find a word with another ending or a typing mistake; the runs of consonants find a
 * name in another language or script (“Jared Allen” and “جاريد ألين”). Each feature is a number below FEATURES.
 */
const FEATURE_BITS = 18;
export const FEATURES = 1 << FEATURE_BITS;

/** A longer text is cut: a title has at most 200 characters, and most questions have less. */
const TEXT_LENGTH_MAX = 2048;
export const cut = (text: string) => text.slice(0, TEXT_LENGTH_MAX);

const LETTERS = { min: 2, max: 4 };
const CONSONANTS = { min: 3, max: 4 };

/** The same letters mean something else in each kind of feature. */
const KINDS = { letters: 0x811c9dc5, word: 0x3f2a7c19, stem: 0x5bd1e995, consonants: 0x27d4eb2f } as const;

/** The features of a text, each once. */
export function featuresOf(text: string): Uint32Array {
  const features = new Set<number>();
  for (const { form, stem, stop } of wordsIn(cut(text))) {
    // In scripts without spaces the form is one character, and the stem a pair of them.
    const word = stem.length > form.length ? stem : form;
    features.add(hashOf(KINDS.word, word));
    addRuns(features, KINDS.letters, ` ${word} `, LETTERS);
    if (!stop) features.add(stemFeature(stem));
    // “Jared” has no ending, but an Arabic stem has no article.
    const consonants = consonantsOf(/^[a-z]/.test(form) ? form : stem);
    if (consonants.length > 1) addRuns(features, KINDS.consonants, ` ${consonants} `, CONSONANTS);
  }
  return Uint32Array.from(features);
}

export const stemFeature = (stem: string) => hashOf(KINDS.stem, stem);

/** FNV-1a. */
const hashed = (hash: number, unit: number) => Math.imul(hash ^ unit, 0x01000193);
const featureOf = (hash: number) => (hash ^ (hash >>> 15)) & (FEATURES - 1);

function hashOf(kind: number, text: string): number {
  let hash = kind;
  for (let at = 0; at < text.length; at += 1) hash = hashed(hash, text.charCodeAt(at));
  return featureOf(hash);
}

function addRuns(features: Set<number>, kind: number, text: string, { min, max }: typeof LETTERS): void {
  for (let from = 0; from + min <= text.length; from += 1) {
    let hash = kind;
    for (let length = 1; length <= max && from + length <= text.length; length += 1) {
      hash = hashed(hash, text.charCodeAt(from + length - 1));
      if (length >= min) features.add(featureOf(hash));
    }
  }
}

/** Letters that sound alike in most languages become one, in this order. Vowels are left out. */
const SOUNDS: readonly [letters: RegExp, sound: string][] = [
  [/ph/g, 'f'],
  [/th/g, 't'],
  [/sch|sh/g, 's'],
  [/ch|ck/g, 'k'],
  [/dzh/g, 'g'],
  [/c(?=[eiy])/g, 's'],
  [/tion/g, 'sn'],
  [/[cq]/g, 'k'],
  [/p/g, 'b'],
  [/v/g, 'f'],
  [/j/g, 'g'],
  [/x/g, 'ks'],
  [/z/g, 's'],
  [/[^bdfgklmnrst0-9]/g, ''],
  [/(.)\1+/g, '$1'],
];

/** A shop uses few different words, so most are known already. */
const knownConsonants = new LRUCache<string, string>({ max: 20_000 });

function consonantsOf(word: string): string {
  let sounds = knownConsonants.get(word);
  if (sounds === undefined) {
    sounds = anyAscii(word).toLowerCase();
    for (const [letters, sound] of SOUNDS) sounds = sounds.replace(letters, sound);
    knownConsonants.set(word, sounds);
  }
  return sounds;
}
