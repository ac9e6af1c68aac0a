import { toldBy } from '../../knowledge/ranking/sameQuestion.ts';
import { readContext, type WithContext } from '../kinds.ts';
import { isPersonal } from './personal.ts';

/** What the comparison needs of a question. */
export interface Compared {
  /** The stems of its words, without those that do not change what is asked. */
  words: ReadonlySet<string>;
  /** Its numbers, and words such as "not", "from" or "Sunday": with others, it is another question. */
  fixed: string;
  /** When, where, who, why or how. Empty if it does not say. */
  asking: string;
  /** Who does it to whom. Empty if it does not say. */
  acting: string;
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
  const { stems, fixed, asking, acting } = toldBy(text.slice(0, 4 * TEXT_LENGTH_MAX), WORDS_MAX);
  return { words: new Set(stems), fixed, asking, acting };
}

export interface PendingRow extends WithContext {
  id: number;
  conversation_id: number;
  created_at: string;
}

export function questionOf(row: PendingRow): Question {
  const asked = readContext(row).question.trim();
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
