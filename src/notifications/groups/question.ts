import { FILLER, NEGATIONS } from '../../knowledge/ranking/sameQuestion.ts';
import { wordsIn } from '../../knowledge/words.ts';
import { isPersonal } from './personal.ts';

/** What the comparison needs of a question. */
export interface Compared {
  /** The stems of its words, without those that do not change what is asked. */
  words: ReadonlySet<string>;
  /** Its numbers, and words such as "not" or "without": with others, it is another question. */
  fixed: string;
}

export interface Question extends Compared {
  id: number;
  /** At most `TEXT_LENGTH_MAX` characters. */
  text: string;
  conversationId: number;
  createdAt: string;
  isPersonal: boolean;
  /** It may be in a group by itself. */
  isGroupable: boolean;
}

const TEXT_LENGTH_MAX = 500;
/** A longer text tells a story, and stories differ. */
const GROUPED_WORDS_MAX = 24;
const WORDS_MAX = 64;

/** Pure, and of this question alone, so every process groups alike. */
export function comparedOf(text: string): Compared {
  const words = new Set<string>();
  const fixed: string[] = [];
  for (const { form, stem, stop } of wordsIn(text.slice(0, 4 * TEXT_LENGTH_MAX))) {
    if (words.size === WORDS_MAX) break;
    if (/\p{N}/u.test(form) || NEGATIONS.has(form)) fixed.push(form);
    if (!stop && !FILLER.has(stem)) words.add(stem);
  }
  return { words, fixed: fixed.sort().join(' ') };
}

export interface PendingRow {
  id: number;
  conversation_id: number;
  created_at: string;
  context: string;
}

export function questionOf(row: PendingRow, asked: string): Question {
  const compared = comparedOf(asked);
  const personal = isPersonal(asked);
  const { size } = compared.words;
  return {
    ...compared,
    id: row.id,
    text: asked.slice(0, TEXT_LENGTH_MAX),
    conversationId: row.conversation_id,
    createdAt: row.created_at,
    isPersonal: personal,
    isGroupable: !personal && asked.length <= TEXT_LENGTH_MAX && size > 0 && size <= GROUPED_WORDS_MAX,
  };
}
