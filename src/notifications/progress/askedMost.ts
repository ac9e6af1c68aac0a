import type { MerchantId } from '../../contract/ids.ts';
import type { Overview } from '../../contract/overview.ts';
import { groupedQuestions, type RecentQuestions } from '../groups/recent.ts';

const SHOWN_MAX = 10;

/** What several customers asked since this time, most first. */
export async function findAskedMost(
  recentQuestions: RecentQuestions,
  merchantId: MerchantId,
  since: string,
): Promise<Overview['asked_most']> {
  const recent = await recentQuestions(merchantId);
  const groups = await groupedQuestions(recent.filter(({ question }) => question.createdAt >= since));
  return groups
    .filter(({ length }) => length > 1)
    .slice(0, SHOWN_MAX)
    .map((group) => {
      const newest = group.at(-1)!;
      return { question: newest.text, count: group.length, notification_id: newest.id };
    });
}
