import type { MerchantId } from '../../contract/ids.ts';
import { COUNTED_MAX, type InboxCounts, MATCHES_COUNTED_MAX } from '../../contract/inbox.ts';
import type { Queries } from '../../database/database.ts';
import { listAttention } from '../../delivery/queue/attention.ts';
import { countScanned } from '../scan.ts';
import type { ItemParts } from './items.ts';
import { contextOf, windowOf } from './list.ts';
import { matchingAmong, messagesOf } from './messages.ts';
import { findMatches, readUnindexed, type Search } from './search/find.ts';
import type { SearchQuery } from './search/query.ts';
import type { Filter, StateTab } from './tabs.ts';

type Count = InboxCounts['open'];

/** With a filter that has no index, at most so many rows of a tab are read. */
const READ_MAX = 2000;
const NONE: Count = { count: 0, more: false };

/** How many each tab has, counted up to a limit, so that a large inbox costs no more than a small one. */
export async function readCounts(
  parts: ItemParts,
  merchantId: MerchantId,
  { query, ...filter }: Omit<Filter, 'tab'> & { query: SearchQuery | 'none' | undefined },
): Promise<InboxCounts> {
  if (query === 'none') return { open: NONE, attention: NONE, answered: NONE, resolved: NONE, all: NONE };
  const { database } = parts;
  const search = query && { query, unindexed: await readUnindexed(database, merchantId) };
  const count = (tab: StateTab) =>
    search
      ? countMatches(database, merchantId, search, { ...filter, tab })
      : countListed(database, merchantId, { ...filter, tab });
  return {
    open: await count('open'),
    attention: await countAttention(parts, merchantId, search, { ...filter, tab: 'attention' }),
    answered: await count('answered'),
    resolved: await count('resolved'),
    all: await count('all'),
  };
}

const upTo = (limit: number, count: number, more = false): Count =>
  count > limit ? { count: limit, more: true } : { count, more };

async function countListed(
  queries: Queries,
  merchantId: MerchantId,
  filter: Filter & { tab: StateTab },
): Promise<Count> {
  const window = windowOf({ ...filter, order: 'desc', after: undefined }, READ_MAX, COUNTED_MAX + 1);
  const { matches, rows } = await countScanned(queries, merchantId, window);
  return upTo(COUNTED_MAX, matches, window.checks.length > 0 && rows === READ_MAX);
}

async function countMatches(
  queries: Queries,
  merchantId: MerchantId,
  search: Search,
  filter: Filter,
): Promise<Count> {
  const page = { after: undefined, order: 'desc', limit: MATCHES_COUNTED_MAX + 1 } as const;
  const ids = await findMatches(queries, merchantId, search, filter, page);
  return upTo(MATCHES_COUNTED_MAX, ids.length, !search.unindexed.isComplete);
}

async function countAttention(
  parts: ItemParts,
  merchantId: MerchantId,
  search: Search | undefined,
  filter: Filter,
): Promise<Count> {
  const { database } = parts;
  const page = {
    after: undefined,
    order: 'desc',
    limit: COUNTED_MAX + 1,
    ...messagesOf('all', filter),
  } as const;
  const rows = await listAttention(database, merchantId, await contextOf(parts, merchantId), page);
  if (!search) return upTo(COUNTED_MAX, rows.length);
  const matching = await matchingAmong(database, merchantId, search, filter, rows);
  return upTo(
    MATCHES_COUNTED_MAX,
    matching.length,
    rows.length > COUNTED_MAX || !search.unindexed.isComplete,
  );
}
