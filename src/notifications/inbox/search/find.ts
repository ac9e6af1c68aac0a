import type { MerchantId } from '../../../contract/ids.ts';
import type { Queries } from '../../../database/database.ts';
import { inSlices } from '../../../http/limits/slices.ts';
import type { Filter } from '../tabs.ts';
import { expressionOf, isMatch, type SearchQuery, withMarks } from './query.ts';
import { findIndexed, listChanges, listOfConversation, matchIndexed } from './store.ts';
import { assigneeMark, indexedWordsOf, readTexts, tabMark, typeMark } from './texts.ts';

/** What is not in the index yet is compared itself, up to this many. Usually a worker is a second behind. */
const COMPARED_MAX = 500;
/** At most 64 KB each. */
const READ_AT_ONCE = 25;

/** The notifications that are not in the index yet, or not as they are now. */
interface Unindexed {
  words: ReadonlyMap<number, ReadonlySet<string>>;
  /** Those that no longer exist, too: what the index says of them does not count. */
  ids: ReadonlySet<number>;
  /** False: there were too many, and the others are found only when they are indexed. */
  isComplete: boolean;
}

/** Must be read before the index: otherwise one that is indexed in between is in neither. */
export async function readUnindexed(queries: Queries, merchantId: MerchantId): Promise<Unindexed> {
  const changes = await listChanges(queries, merchantId, COMPARED_MAX + 1);
  const ids = new Set<number>();
  let isComplete = changes.length <= COMPARED_MAX;
  for (const { notification_id, conversation_id, after_id } of changes) {
    if (notification_id !== null) ids.add(notification_id);
    if (conversation_id === null) continue;
    const limit = COMPARED_MAX + 1 - ids.size;
    const more = { conversationId: conversation_id, afterId: after_id, limit: Math.max(1, limit) };
    for (const id of await listOfConversation(queries, merchantId, more)) ids.add(id);
    if (ids.size > COMPARED_MAX) {
      isComplete = false;
      break;
    }
  }
  const pause = inSlices();
  const words = new Map<number, ReadonlySet<string>>();
  const wanted = [...ids];
  for (let from = 0; from < wanted.length; from += READ_AT_ONCE) {
    const slice = wanted.slice(from, from + READ_AT_ONCE);
    for (const [id, texts] of await readTexts(queries, merchantId, slice)) {
      words.set(id, indexedWordsOf(texts));
      await pause();
    }
  }
  return { words, ids, isComplete };
}

export interface Search {
  query: SearchQuery;
  unindexed: Unindexed;
}

const marksOf = ({ tab, type, assigned }: Filter) => [
  ...(tab === 'all' || tab === 'attention' ? [] : [tabMark(tab)]),
  ...(type === undefined ? [] : [typeMark(type)]),
  ...(assigned === undefined ? [] : [assigneeMark(assigned)]),
];

/** The next ones that match, in order. They may have changed since. */
export async function findMatches(
  queries: Queries,
  merchantId: MerchantId,
  { query, unindexed }: Search,
  filter: Filter,
  page: { after: number | undefined; order: 'asc' | 'desc'; limit: number },
): Promise<number[]> {
  const { after, order, limit } = page;
  const wanted = withMarks(query, marksOf(filter));
  const expression = expressionOf(queries.engine, merchantId, wanted);
  const isAfter = (id: number) => after === undefined || (order === 'desc' ? id < after : id > after);
  const direct = [...unindexed.words].filter(([id, words]) => isAfter(id) && isMatch(wanted, words));
  // Those that are compared themselves may fill the whole page of the index.
  const indexed: number[] = [];
  for (let from = after; indexed.length < limit; ) {
    const found = await findIndexed(queries, merchantId, { expression, after: from, order, limit });
    indexed.push(...found.filter((id) => !unindexed.ids.has(id)));
    if (found.length < limit) break;
    from = found.at(-1);
  }
  const sign = order === 'desc' ? -1 : 1;
  return [...direct.map(([id]) => id), ...indexed].sort((a, b) => sign * (a - b)).slice(0, limit);
}

/** Which of these match. */
export async function matchAmong(
  queries: Queries,
  merchantId: MerchantId,
  { query, unindexed }: Search,
  filter: Filter,
  ids: readonly number[],
): Promise<Set<number>> {
  const wanted = withMarks(query, marksOf(filter));
  const expression = expressionOf(queries.engine, merchantId, wanted);
  const indexed = await matchIndexed(queries, merchantId, expression, ids);
  const isFound = (id: number) => {
    const words = unindexed.words.get(id);
    return words !== undefined && isMatch(wanted, words);
  };
  return new Set([...indexed.filter((id) => !unindexed.ids.has(id)), ...ids.filter(isFound)]);
}
