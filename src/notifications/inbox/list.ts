import type { MerchantId } from '../../contract/ids.ts';
import type { InboxPage } from '../../contract/inbox.ts';
import type { Queries } from '../../database/database.ts';
import { listAttention } from '../../delivery/queue/attention.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { cursorOf } from '../../http/paging.ts';
import { type Position, scan, type Window } from '../scan.ts';
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
  /** The end of the previous page. */
  after: Position | undefined;
}

/** The next notifications of a list (with attention, their messages), and where the page after them begins. */
interface Found {
  ids: number[];
  next: Position | undefined;
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
    next_cursor: next === undefined ? null : cursorOf(cursorText(request, next)),
    complete: search?.unindexed.isComplete ?? true,
  };
}

type Ordered = Pick<PageRequest, 'tab' | 'query'>;

/** By the time when it was done. A search finds by the time of the question: its index has no other order. */
const isByTime = ({ tab, query }: Ordered) =>
  query === undefined && (tab === 'answered' || tab === 'resolved');

function cursorText(list: Ordered, { id, updated_at }: Position): string {
  if (isByTime(list)) return `done ${updated_at} ${id}`;
  return list.tab === 'attention' ? `message ${id}` : `id ${id}`;
}

const CURSOR = {
  done: /^done ([\dT:.Z-]{24}) (\d{1,15})$/,
  message: /^message (\d{1,15})$/,
  id: /^id (\d{1,15})$/,
};
export const cursorPattern = (list: Ordered): RegExp =>
  CURSOR[isByTime(list) ? 'done' : list.tab === 'attention' ? 'message' : 'id'];

function pageOf<Row extends Position>(rows: readonly Row[], limit: number): Found {
  const page = rows.slice(0, limit);
  return { ids: page.map(({ id }) => id), next: rows.length > limit ? page.at(-1) : undefined };
}

async function findSearched(
  queries: Queries,
  merchantId: MerchantId,
  request: PageRequest,
  search: Search,
): Promise<Found> {
  const { after, order, limit } = request;
  const page = { after: after?.id, order, limit: limit + 1 };
  const ids = await findMatches(queries, merchantId, search, request, page);
  return pageOf(
    ids.map((id) => ({ id })),
    limit,
  );
}

/** No index has every filter, so a page reads at most this many rows, a window at a time. */
const WINDOW = 1000;
const WINDOWS_MAX = 5;

async function findListed(
  queries: Queries,
  merchantId: MerchantId,
  request: Omit<PageRequest, 'query'> & { tab: StateTab },
): Promise<Found> {
  const { limit } = request;
  const pause = inSlices();
  const found: Position[] = [];
  let window = windowOf(request, WINDOW, limit + 1);
  for (let windows = 0; windows < WINDOWS_MAX; windows += 1) {
    const { found: more, last } = await scan(queries, merchantId, window);
    found.push(...more);
    if (found.length > limit || !last) return pageOf(found, limit);
    window = { ...window, after: last };
    await pause();
  }
  return { ids: found.map(({ id }) => id), next: window.after };
}

/** Reads `rowsMax` rows if some are left out, otherwise as many as are wanted. */
export function windowOf(
  { order, after, ...filter }: Filter & { tab: StateTab } & Pick<PageRequest, 'order' | 'after'>,
  rowsMax: number,
  wanted: number,
): Window {
  const { driver, checks } = conditionsOf(filter);
  const byTime = isByTime({ tab: filter.tab, query: undefined });
  return { driver, checks, order, byTime, after, rowsMax: checks.length === 0 ? wanted : rowsMax };
}

/** The condition with an index that finds the fewest rows, and those that are checked in them. */
function conditionsOf({ tab, type, assigned }: Filter & { tab: StateTab }) {
  const ofTab = TAB_CONDITIONS[tab];
  if (typeof assigned !== 'number') return { driver: ofTab, checks: otherConditions({ type, assigned }) };
  const checks = otherConditions({ type, assigned: undefined });
  const driver = `assigned_to = ${assigned}`;
  if (tab === 'all') return { driver, checks };
  if (tab === 'open') return { driver, checks: [ofTab, ...checks] };
  return { driver: `${driver} and ${ofTab}`, checks };
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
  const wanted = { after: after?.id, order, limit: atOnce, ...messagesOf('answers', request) };
  const rows = await listAttention(parts.database, merchantId, context, wanted);
  const found = await matchingAmong(parts.database, merchantId, search, request, rows);
  const page = found.slice(0, limit);
  const hasMore = found.length > limit || rows.length === atOnce;
  const last = found.length > limit ? page.at(-1) : rows.at(-1);
  return { ids: page.map((row) => row.notification_id), next: hasMore && last ? { id: last.id } : undefined };
}
