/** A text in a form in which the same name looks the same, with the place of each character in the text. */
export interface Folded {
  text: string;
  starts: number[];
  ends: number[];
}

export type Mode = 'closely' | 'as written';

/** Spaces of any kind, hyphens and apostrophes: each is the same between the words of a name. */
const SEPARATOR = /[\s\p{Pd}\u2212'’‘ʼ＇`´]/u;
/** Marks that nobody sees, and the line that stretches Arabic words. */
const INVISIBLE = /[\p{Cf}\u0640]/u;
const ACCENT = /[\u0300-\u036f\u064b-\u065f\u0670]/g;
const SAME_LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ς: 'σ', ı: 'i' };
/** Where the digits of scripts begin that write numbers with their own. */
const ZEROS = [
  ...[0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20],
  ...[0x1040, 0x17e0, 0x1810, 0xff10],
];
const isHangul = (code: number) => code >= 0xac00 && code <= 0xd7a3;

function foldCharacter(code: number, mode: Mode): string {
  const character = String.fromCodePoint(code);
  if (SEPARATOR.test(character)) return ' ';
  if (INVISIBLE.test(character)) return '';
  const zero = ZEROS.find((first) => code >= first && code < first + 10);
  if (zero !== undefined) return String(code - zero);
  // Accents become characters of their own, so that both ways to write them are the same. Korean syllables stay whole.
  const plain = isHangul(code) ? character : character.normalize('NFKD');
  if (mode === 'as written') return plain;
  const small = plain.toLowerCase().normalize('NFKD').replace(ACCENT, '');
  return isHangul(code) ? character : (SAME_LETTERS[small] ?? small);
}

const CACHED_MAX = 20_000;
const cached: Readonly<Record<Mode, Map<number, string>>> = { closely: new Map(), 'as written': new Map() };

function folded(code: number, mode: Mode): string {
  const known = cached[mode].get(code);
  if (known !== undefined) return known;
  if (cached[mode].size >= CACHED_MAX) cached[mode].clear();
  const result = foldCharacter(code, mode);
  cached[mode].set(code, result);
  return result;
}

export function fold(text: string, mode: Mode): Folded {
  const parts: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let last = '';
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at)!;
    const end = at + (code > 0xffff ? 2 : 1);
    const result = folded(code, mode);
    if (result !== '' && !(result === ' ' && last === ' ')) {
      parts.push(result);
      last = result;
      for (let unit = 0; unit < result.length; unit += 1) {
        starts.push(at);
        ends.push(end);
      }
    }
    at = end;
  }
  return { text: parts.join(''), starts, ends };
}

/** Scripts that have no spaces between words, or whose words grow at their end. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u3099\u309a]/u;
export const hasUnspaced = (text: string) => UNSPACED.test(text);
/** Whether all letters are of such scripts. */
export const isUnspaced = (text: string) =>
  hasUnspaced(text) && [...text].every((one) => !/\p{L}/u.test(one) || UNSPACED.test(one));
