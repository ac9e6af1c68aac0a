import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '../../contract/plain.ts';

export const TOO_SHORT = `A password needs at least ${PASSWORD_LENGTH_MIN} characters.`;
/** From 0 to 4. zxcvbn calls 3 "safely unguessable": over 10^8 guesses. */
const SCORE_MIN = 3;
/** Scoring takes longer than linear time: 0.1 s for 32 characters, a second for 64. The rest can only add strength. */
const SCORED_LENGTH_MAX = 32;

/** Shorter ones are also scored without what separates their words: `qwerty-qwerty` is as easy as `qwertyqwerty`. */
const LONG = 16;
/** A password needs at least this much besides names. */
const BESIDES_NAMES_MIN = 6;
/** What people in our languages choose first. The word lists are English. */
const COMMON = ['deskbell', 'contraseña', 'contrasena', 'palavrapasse', 'كلمةالسر', 'hola', 'senha', 'clave'];

const EASY = 'This password is too easy to guess. Use a few uncommon words.';
const NAMES =
  "This password is too easy to guess: it is made of your name, your email address, your shop's name or ours. " +
  'Use a few uncommon words.';

/**
 * Why this password must not be set, as a sentence or two, or undefined. `known` is what an attacker knows: the user's
 * name and email address, the shop's name. Call it wherever a password is set.
 */
export async function passwordProblem(
  password: string,
  known: readonly string[],
): Promise<string | undefined> {
  const characters = [...password];
  if (characters.length < PASSWORD_LENGTH_MIN) return TOO_SHORT;
  if (characters.length > PASSWORD_LENGTH_MAX)
    return `A password may have at most ${PASSWORD_LENGTH_MAX} characters.`;
  // The whole text, its words, and the words without spaces between them.
  const names = known.flatMap((text) => {
    const parts = text.split(SEPARATORS);
    return [text, ...parts, parts.join('')];
  });
  const words = [...COMMON, ...names];
  if ([...withoutWords(password, words)].length < BESIDES_NAMES_MIN) return NAMES;

  const scorer = await loadScorer();
  const scored = [characters.slice(0, SCORED_LENGTH_MAX).join('')];
  if (characters.length < LONG) scored.push(password.replaceAll(SEPARATORS, ''));
  const isHard = scored.every((text) => scorer.check(text, words).score >= SCORE_MIN);
  return isHard ? undefined : EASY;
}

const SEPARATORS = /[^\p{L}\p{N}]+/gu;
/** Shorter ones occur in other words. */
const NAME_LENGTH_MIN = 3;

/** What is left of a password if one removes these words and what separates them. */
function withoutWords(password: string, words: readonly string[]): string {
  const longestFirst = words
    .map((word) => word.toLowerCase())
    .filter(({ length }) => length >= NAME_LENGTH_MIN)
    .sort((a, b) => b.length - a.length);
  let rest = password.toLowerCase();
  for (const word of longestFirst) rest = rest.replaceAll(word, ' ');
  return rest.replaceAll(SEPARATORS, '');
}

let loaded: Promise<ZxcvbnFactory> | undefined;

/** Loaded when the first password is set: the word lists take half a second and 70 MB, which a server does not need. */
function loadScorer(): Promise<ZxcvbnFactory> {
  loaded ??= (async () => {
    const [{ ZxcvbnFactory }, common, english] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
      import('@zxcvbn-ts/language-en'),
    ]);
    return new ZxcvbnFactory({
      // The common passwords, and English words and names.
      dictionary: { ...common.dictionary, ...english.dictionary },
      graphs: common.adjacencyGraphs,
    });
  })();
  return loaded;
}
