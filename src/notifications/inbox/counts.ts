import type { MerchantId } from '../../contract/ids.ts';
import { COUNTED_MAX, type InboxCounts, MATCHES_COUNTED_MAX } from '../../contract/inbox.ts';
import type { Queries } from '../../database/database.ts';
import { listAttention } from '../../delivery/queue/attention.ts';
import type { ItemParts } from './items.ts';
import { conditionsOf, contextOf, orderBy } from './list.ts';
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
  const { driver, checks } = conditionsOf(filter);
  const rowsMax = checks.length === 0 ? COUNTED_MAX + 1 : READ_MAX;
  const row = await queries.one<{ rows: number; matches: number }>(
    `select count(*) as rows, count(matches) as matches
      from (select case when ${['true', ...checks].join(' and ')} then 1 end as matches from notifications
        where merchant_id = $1 and ${driver} order by ${orderBy(filter.tab, 'desc')} limit ${rowsMax}) newest`,
    [merchantId],
  );
  return upTo(COUNTED_MAX, row?.matches ?? 0, checks.length > 0 && row?.rows === READ_MAX);
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
