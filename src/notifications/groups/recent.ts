import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { groupsOf } from './group.ts';
import type { Question } from './question.ts';
import { listRecent, type QuestionState, readQuestions } from './store.ts';

/** One of a merchant's newest questions, pending or not. */
export interface RecentQuestion {
  question: Question;
  state: QuestionState;
  isUngrouped: boolean;
}

/** The text of a question and its words, about. */
const QUESTION_BYTES = 1500;
const KEPT_MAX_BYTES = 16 * 1024 * 1024;

export type RecentQuestions = (merchantId: MerchantId) => Promise<RecentQuestion[]>;

/**
 * A merchant's newest 1,000 questions in the order of their ids. A question never changes, so each is read and compared
 * once and then kept in memory.
 */
export function createRecentQuestions(database: Database): RecentQuestions {
  const kept = new LRUCache<MerchantId, ReadonlyMap<number, Question>>({
    maxSize: KEPT_MAX_BYTES,
    sizeCalculation: (questions) => QUESTION_BYTES * (1 + questions.size),
  });
  return async (merchantId) => {
    const rows = await listRecent(database, merchantId);
    const before = kept.get(merchantId);
    const missing = rows.map(({ id }) => id).filter((id) => !before?.has(id));
    const found = await readQuestions(database, merchantId, missing);
    const recent = rows.flatMap(({ id, state, ungrouped }): RecentQuestion[] => {
      const question = found.get(id) ?? before?.get(id);
      return question ? [{ question, state, isUngrouped: ungrouped === 1 }] : [];
    });
    kept.set(merchantId, new Map(recent.map(({ question }) => [question.id, question])));
    return recent;
  };
}

/** Groups of the same question, and those that are in no group as groups of one. The largest first, then the newest. */
export async function groupedQuestions(recent: readonly RecentQuestion[]): Promise<Question[][]> {
  const together = recent.filter(({ isUngrouped }) => !isUngrouped).map(({ question }) => question);
  const groups = await groupsOf(together, inSlices());
  const inGroup = new Set(groups.flat());
  const alone = recent.filter(({ question }) => !inGroup.has(question)).map(({ question }) => [question]);
  return [...groups, ...alone].sort((a, b) => b.length - a.length || b.at(-1)!.id - a.at(-1)!.id);
}
