import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { type KnowledgeGap, KnowledgeGaps } from '../../contract/knowledgeUpkeep.ts';
import type { Database } from '../../database/database.ts';
import { type App, route } from '../../http/openapi.ts';
import type { Ranking } from '../../knowledge/ranking/rank.ts';
import { answersOf, taughtAmong } from '../../knowledge/taught.ts';
import type { Question } from '../groups/question.ts';
import { groupedQuestions, type RecentQuestions } from '../groups/recent.ts';

export interface GapParts {
  database: Database;
  ranking: Ranking;
  recentQuestions: RecentQuestions;
  now: () => Date;
}

const DAY_MS = 24 * 60 * 60_000;
const ANSWERED_DAYS = 90;
const SHOWN_MAX = 50;
/** Each is compared with all documents. */
const COMPARED_MAX = 100;
/** A document with this score is about the same question. */
const ANSWERED_SCORE = 0.8;

/**
 * What customers asked and no document answers: pending questions, and those that were answered without teaching the
 * assistant. Questions about one customer's own affairs are not among them.
 */
async function findGaps(
  { database, ranking, recentQuestions, now }: GapParts,
  merchantId: MerchantId,
): Promise<KnowledgeGap[]> {
  const since = new Date(now().getTime() - ANSWERED_DAYS * DAY_MS).toISOString();
  const recent = (await recentQuestions(merchantId)).filter(
    ({ question, state }) =>
      !question.isPersonal && (state === 'pending' || (state === 'answered' && question.createdAt >= since)),
  );
  const pending = new Set<number>();
  const answered: number[] = [];
  for (const { question, state } of recent) {
    if (state === 'pending') pending.add(question.id);
    else answered.push(question.id);
  }
  const taught = await taughtAmong(database, merchantId, answered);
  const groups = await groupedQuestions(recent.filter(({ question }) => !taught.has(question.id)));
  // Somebody waits for these, so they come first. The sort keeps the order of the others.
  const isWaiting = (group: readonly Question[]) => group.some(({ id }) => pending.has(id));
  groups.sort((a, b) => Number(isWaiting(b)) - Number(isWaiting(a)));
  const gaps: Question[][] = [];
  for (const group of groups.slice(0, COMPARED_MAX)) {
    if (gaps.length === SHOWN_MAX) break;
    const documents = await ranking.rank(merchantId, group.at(-1)!.text, ANSWERED_SCORE);
    if (documents.length === 0) gaps.push(group);
  }
  const lastAnswered = gaps.map((group) => group.findLast(({ id }) => !pending.has(id))?.id ?? null);
  const answers = await answersOf(
    database,
    merchantId,
    lastAnswered.filter((id) => id !== null),
  );
  return gaps.map((group, index) => {
    const newest = group.at(-1)!;
    const answeredId = lastAnswered[index]!;
    return {
      question: newest.text,
      count: group.length,
      pending_ids: group
        .map(({ id }) => id)
        .filter((id) => pending.has(id))
        .reverse(),
      answered_id: answeredId,
      answer: answeredId === null ? null : (answers.get(answeredId) ?? null),
      newest_at: newest.createdAt,
    };
  });
}

export async function gapRoutes(app: App, parts: GapParts): Promise<void> {
  requireMerchant(app);
  app.get(
    '/gaps',
    route('knowledge', 'List what no document answers', {
      operationId: 'listKnowledgeGaps',
      scopes: ['notifications:read'],
      description:
        'What customers asked and no document answers, in groups of the same question: pending questions, and those ' +
        'that were answered in the last 90 days without teaching the assistant, among the newest 1,000. Questions ' +
        'that are about one customer only are not among them.',
      response: { 200: KnowledgeGaps },
    }),
    async (request) => ({ gaps: await findGaps(parts, merchantOf(request)) }),
  );
}
