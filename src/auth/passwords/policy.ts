import type { ZxcvbnFactory } from '@zxcvbn-ts/core';

const LENGTH_MIN = 10;
// The same limit as for sign-in.
const LENGTH_MAX = 1024;
/** From 0 to 4. zxcvbn calls 3 "safely unguessable": over 10^8 guesses. */
const SCORE_MIN = 3;
/** Judging takes longer than linear time: 0.1 s for 32 characters, a second for 64. The rest can only add strength. */
const JUDGED_MAX = 32;

/**
 * Why this password must not be set, as a sentence or two, or undefined. `known` is what an attacker knows: the user's
 * name and email address, the shop's name. Call it wherever a password is set.
 */
export async function passwordProblem(
  password: string,
  known: readonly string[],
): Promise<string | undefined> {
  const characters = [...password];
  if (characters.length < LENGTH_MIN) return `A password needs at least ${LENGTH_MIN} characters.`;
  if (characters.length > LENGTH_MAX) return `A password may have at most ${LENGTH_MAX} characters.`;
  const judge = await loadJudge();
  // The whole text, its words, and the words without spaces between them.
  const words = known.flatMap((text) => {
    const parts = text.split(/[^\p{L}\p{N}]+/u);
    return [text, ...parts, parts.join('')];
  });
  const { score, feedback } = judge.check(characters.slice(0, JUDGED_MAX).join(''), ['deskbell', ...words]);
  if (score >= SCORE_MIN) return undefined;
  const { warning, suggestions } = feedback;
  const reasons = [warning, ...suggestions].filter(Boolean).join(' ') || 'Use a few uncommon words.';
  return `This password is too easy to guess: ${reasons.charAt(0).toLowerCase()}${reasons.slice(1)}`;
}

let loaded: Promise<ZxcvbnFactory> | undefined;

/** Loaded when the first password is set: the word lists take half a second and 70 MB, which a server does not need. */
function loadJudge(): Promise<ZxcvbnFactory> {
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
