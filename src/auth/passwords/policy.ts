import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '../../contract/passwords.ts';

export const TOO_SHORT = `A password needs at least ${PASSWORD_LENGTH_MIN} characters.`;
/** From 0 to 4. zxcvbn calls 3 "safely unguessable": over 10^8 guesses. */
const SCORE_MIN = 3;
/** Scoring takes longer than linear time: 0.1 s for 32 characters, a second for 64. The rest can only add strength. */
const SCORED_LENGTH_MAX = 32;

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
  const scorer = await loadScorer();
  // The whole text, its words, and the words without spaces between them.
  const words = known.flatMap((text) => {
    const parts = text.split(/[^\p{L}\p{N}]+/u);
    return [text, ...parts, parts.join('')];
  });
  const scored = characters.slice(0, SCORED_LENGTH_MAX).join('');
  const { score, feedback } = scorer.check(scored, ['deskbell', ...words]);
  if (score >= SCORE_MIN) return undefined;
  const { warning, suggestions } = feedback;
  const reasons = [warning, ...suggestions].filter(Boolean).join(' ') || 'Use a few uncommon words.';
  return `This password is too easy to guess: ${reasons.charAt(0).toLowerCase()}${reasons.slice(1)}`;
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
      translations: english.translations,
    });
  })();
  return loaded;
}
