import type { MerchantId } from '../../contract/ids.ts';
import type { InboxPage } from '../../contract/inbox.ts';
import type { Queries } from '../../database/database.ts';
import { listAttention } from '../../delivery/queue/attention.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { cursorOf } from '../../http/paging.ts';
import { type ItemParts, readItems } from './items.ts';
import { matchingAmong, messagesOf, readDirectMessages } from './messages.ts';
import { findMatches, readUnindexed, type Search } from './search/find.ts';
import type { SearchQuery } from './search/query.ts';
import { type Filter, otherConditions, type StateTab, TAB_CONDITIONS } from './tabs.ts';

export interface PageRequest extends Filter {
  /** `none`: the text of the search has no words, so nothing matches. */
  query: SearchQuery | 'none' | undefined;
  order: 'asc' | 'desc';
  limit: number;
  /** The last notification of the previous page; with attention, its message. */
  after: number | undefined;
}

/** The next notifications of a list, and where the page after them begins. */
interface Found {
  ids: number[];
  next: number | undefined;
}

export async function readPage(
  parts: ItemParts,
  merchantId: MerchantId,
  request: PageRequest,
): Promise<InboxPage> {
  const { query, tab } = request;
  if (query === 'none') return { items: [], messages: [], next_cursor: null, complete: true };
  const { database } = parts;
  const search = query && { query, unindexed: await readUnindexed(database, merchantId) };
  const { ids, next } =
    tab === 'attention'
      ? await findAttention(parts, merchantId, request, search)
      : search
        ? await findSearched(database, merchantId, request, search)
        : await findListed(database, merchantId, { ...request, tab });
  const read = await readItems(parts, merchantId, ids);
  // Some may have changed since they were found.
  const items = ids.flatMap((id) => {
    const item = read.get(id);
    if (!item) return [];
    const isIn =
      tab === 'attention' ? item.attention !== null : tab === 'all' || tab === (item.outcome ?? 'open');
    return isIn ? [item] : [];
  });
  const messages =
    tab === 'attention' && request.after === undefined
      ? await readDirectMessages(database, merchantId, await contextOf(parts, merchantId), request, search)
      : [];
  return {
    items,
    messages,
    next_cursor: next === undefined ? null : cursorOf(`${CURSOR_KIND[tab]} ${next}`),
    complete: search?.unindexed.isComplete ?? true,
  };
}

/** What the number in a cursor is the id of. */
const CURSOR_KIND = {
  open: 'id',
  answered: 'id',
  resolved: 'id',
  all: 'id',
  attention: 'message',
} as const satisfies Record<PageRequest['tab'], string>;
export const cursorPattern = (tab: PageRequest['tab']) => new RegExp(`^${CURSOR_KIND[tab]} (\\d{1,15})$`);

const pageOf = (ids: readonly number[], limit: number): Found => ({
  ids: ids.slice(0, limit),
  next: ids.length > limit ? ids[limit - 1] : undefined,
});

async function findSearched(
  queries: Queries,
  merchantId: MerchantId,
  request: PageRequest,
  search: Search,
): Promise<Found> {
  const { after, order, limit } = request;
  const page = { after, order, limit: limit + 1 };
  return pageOf(await findMatches(queries, merchantId, search, request, page), limit);
}

/** No index has every filter, so a page reads at most this many rows, a window at a time. */
const WINDOW = 1000;
const WINDOWS_MAX = 5;

async function findListed(
  queries: Queries,
  merchantId: MerchantId,
  request: Omit<PageRequest, 'query'> & { tab: StateTab },
): Promise<Found> {
  const { order, limit, after } = request;
  const pause = inSlices();
  const ids: number[] = [];
  const { driver, checks } = conditionsOf(request);
  const atOnce = checks.length === 0 ? limit + 1 : WINDOW;
  let last = after;
  for (let windows = 0; windows < WINDOWS_MAX; windows += 1) {
    const rows = await queries.all<{ id: number; matches: number }>(
      `select id, case when ${['true', ...checks].join(' and ')} then 1 else 0 end as matches from notifications
        where merchant_id = $1 and ${driver} and id ${order === 'desc' ? '<' : '>'} $2
        order by id ${order} limit $3`,
      [merchantId, last ?? (order === 'desc' ? Number.MAX_SAFE_INTEGER : 0), atOnce],
    );
    for (const row of rows) if (row.matches === 1) ids.push(row.id);
    if (ids.length > limit || rows.length < atOnce) return pageOf(ids, limit);
    last = rows.at(-1)!.id;
    await pause();
  }
  return { ids, next: last };
}

/** The condition with an index that finds the fewest rows, and those that are checked in them. */
export function conditionsOf({ tab, type, assigned }: Filter & { tab: StateTab }) {
  const ofTab = TAB_CONDITIONS[tab];
  if (typeof assigned !== 'number') return { driver: ofTab, checks: otherConditions({ type, assigned }) };
  const checks = [ofTab, ...otherConditions({ type, assigned: undefined })].filter(
    (check) => check !== 'true',
  );
  return { driver: `assigned_to = ${assigned}`, checks };
}

/** Matches are rare among those that need attention, or all of them match: a page reads at most this many. */
const ATTENTION_MAX = 1000;

export const contextOf = async ({ channelStateOf, now }: ItemParts, merchantId: MerchantId) => ({
  at: now(),
  channel: await channelStateOf(merchantId),
});

async function findAttention(
  parts: ItemParts,
  merchantId: MerchantId,
  request: PageRequest,
  search: Search | undefined,
): Promise<Found> {
  const { order, limit, after } = request;
  const context = await contextOf(parts, merchantId);
  const isFiltered = search !== undefined || otherConditions(request).length > 0;
  const atOnce = isFiltered ? ATTENTION_MAX : limit + 1;
  const wanted = { after, order, limit: atOnce, ...messagesOf('answers', request) };
  const rows = await listAttention(parts.database, merchantId, context, wanted);
  const found = await matchingAmong(parts.database, merchantId, search, request, rows);
  const page = found.slice(0, limit);
  const hasMore = found.length > limit || rows.length === atOnce;
  const last = found.length > limit ? page.at(-1) : rows.at(-1);
  return { ids: page.map((row) => row.notification_id), next: hasMore ? last?.id : undefined };
}
