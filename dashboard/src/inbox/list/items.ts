import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { InboxItem, InboxPage } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { inSlices, request, requestWithHeaders } from '../../api/client.ts';
import { connection } from '../../api/events.ts';
import { session } from '../../session/session.ts';
import { createStore, useStore } from '../../shell/store.ts';
import type { View } from '../view.ts';
import {
  type ListContext,
  type LoadedList,
  type LoadedPage,
  listOf,
  withFirstPage,
  withItems,
  withLastPage,
  withNextPage,
  withSameFirstPage,
} from './loaded.ts';

const LIST_KEY = ['inbox', 'list'] as const;
const keyOf = (view: View) => [...LIST_KEY, view] as const;
/** Polling interval without a live connection. */
export const POLL_MS = 10_000;
/** What the server takes in one request. */
const IDS_MAX = 100;

async function fetchPage(
  view: View,
  options: { cursor?: string | undefined; etag?: string | null | undefined; signal?: AbortSignal },
): Promise<LoadedPage | undefined> {
  const { cursor, etag, signal } = options;
  const headers: Record<string, string> = etag ? { 'If-None-Match': etag } : {};
  const { body, headers: received } = await requestWithHeaders<InboxPage | undefined>(
    { ...calls.inbox(view, { cursor }), headers },
    signal ? { signal } : {},
  );
  return body && { ...body, etag: received.get('etag'), cursor };
}

const fetchItems = async (ids: readonly number[]): Promise<InboxItem[]> => {
  const pages = [];
  for (const slice of inSlices(ids)) pages.push(await request<InboxPage>(calls.inboxItems(slice)));
  return pages.flatMap(({ items }) => items);
};

/** The list of a view. Only its first page is loaded by itself; events refresh what changed. */
export function useList(view: View) {
  const client = useQueryClient();
  const live = useStore(connection) === 'live';
  const query = useQuery<LoadedList>({
    queryKey: keyOf(view),
    queryFn: async ({ signal }) => {
      const page = (await fetchPage(view, { signal }))!;
      const list = client.getQueryData<LoadedList>(keyOf(view));
      return list ? withFirstPage(list, page, view) : listOf(page);
    },
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
    // While a search runs, its old results stay.
    placeholderData: (before, query) => {
      const previous = query?.queryKey[2] as View | undefined;
      return previous?.tab === view.tab ? before : undefined;
    },
  });
  // It may have been loaded some time ago: events refresh only the list on the screen.
  const key = JSON.stringify(view);
  useEffect(() => {
    const { dataUpdatedAt } = client.getQueryState(keyOf(JSON.parse(key) as View)) ?? {};
    if (dataUpdatedAt) void refreshLists(client);
  }, [client, key]);
  useEffect(() => {
    if (live) return;
    const timer = setInterval(() => void refreshLists(client), POLL_MS);
    return () => clearInterval(timer);
  }, [client, live]);
  return query;
}

/** Items by their ids, wherever they are listed. */
export function useItems(ids: readonly number[]) {
  const sorted = [...ids].sort((a, b) => a - b);
  return useQuery({
    queryKey: ['inbox', 'items', sorted.join()],
    queryFn: () => fetchItems(sorted),
    enabled: sorted.length > 0,
    placeholderData: (before) => before,
  });
}

const loading = new Set<string>();
/** Views whose next page could not be loaded. */
const nextPageFailed = createStore<ReadonlySet<string>>(new Set());

export const useNextPageFailed = (view: View): boolean => useStore(nextPageFailed).has(JSON.stringify(view));

/** The rows that are on the screen then ask for the page again. */
export function setNextPageFailed(view: View, failed: boolean): void {
  const name = JSON.stringify(view);
  if (nextPageFailed.get().has(name) === failed) return;
  const next = new Set(nextPageFailed.get());
  if (failed) next.add(name);
  else next.delete(name);
  nextPageFailed.set(next);
}

/** Loads the page after the last one. */
export async function loadMore(client: QueryClient, view: View): Promise<void> {
  const name = JSON.stringify(view);
  const cursor = client.getQueryData<LoadedList>(keyOf(view))?.pages.at(-1)?.next_cursor;
  if (!cursor || loading.has(name)) return;
  loading.add(name);
  try {
    const page = await fetchPage(view, { cursor });
    setNextPageFailed(view, false);
    client.setQueryData<LoadedList>(keyOf(view), (list) =>
      // Otherwise the list has changed, and the rows ask for the page that follows now.
      list && page && list.pages.at(-1)?.next_cursor === cursor ? withNextPage(list, page) : list,
    );
  } catch {
    setNextPageFailed(view, true);
  } finally {
    loading.delete(name);
  }
}

const activeViews = (client: QueryClient): View[] =>
  client
    .getQueryCache()
    .findAll({ queryKey: LIST_KEY, type: 'active' })
    .filter(({ state }) => state.data !== undefined)
    .map(({ queryKey }) => queryKey[2] as View);

const loadingLists = (client: QueryClient) =>
  client
    .getQueryCache()
    .findAll({ queryKey: LIST_KEY, type: 'active', fetchStatus: 'fetching' })
    .filter(({ state }) => state.data === undefined);

const contextOf = (view: View): ListContext => {
  const state = session.get();
  return { view, userId: state.status === 'signedIn' ? state.user.id : 0 };
};

/** The rows on the screen. */
export const visibleIds = createStore<readonly number[]>([]);
/** What the user has changed: it may belong into a list that does not have it. */
const changedIds = new Set<number>();
/** Counts what the user does, so that an older response does not undo it on the screen. */
let changes = 0;
let refreshing: Promise<void> | undefined;
let again = false;

/** Refreshes the list on the screen: its first page, and the rows that can be seen. One refresh runs at a time. */
export function refreshLists(client: QueryClient): Promise<void> {
  again = true;
  refreshing ??= (async () => {
    try {
      while (again) {
        again = false;
        // A list that is still loading may be without what has just changed.
        await Promise.allSettled(loadingLists(client).map((query) => query.fetch()));
        for (const view of activeViews(client)) await refreshList(client, view);
      }
    } catch {
      // What is on the screen stays. The next event or the connection tries again.
    } finally {
      refreshing = undefined;
    }
  })();
  return refreshing;
}

async function refreshList(client: QueryClient, view: View): Promise<void> {
  const key = keyOf(view);
  const changesBefore = changes;
  const list = client.getQueryData<LoadedList>(key);
  if (!list) return;
  const first = await fetchPage(view, { etag: list.pages[0]?.etag });
  const last = list.pages.length > 1 ? list.pages.at(-1) : undefined;
  const growsAtEnd = view.sort === 'oldest' && last?.next_cursor === null;
  const lastPage = growsAtEnd ? await fetchPage(view, { cursor: last.cursor }) : undefined;
  const isCurrent = (now: LoadedList | undefined) =>
    changes === changesBefore && now?.pages.length === list.pages.length;
  if (!isCurrent(client.getQueryData(key))) {
    again = true;
    return;
  }
  client.setQueryData<LoadedList>(key, (now) => {
    if (!now) return now;
    const next = first ? withFirstPage(now, first, view) : withSameFirstPage(now);
    return lastPage && next.pages.length > 1 ? withLastPage(next, lastPage) : next;
  });
  const { staleIds = new Set() } = client.getQueryData<LoadedList>(key) ?? {};
  const wanted = [...changedIds, ...visibleIds.get().filter((id) => staleIds.has(id) && !changedIds.has(id))];
  changedIds.clear();
  await refreshItems(client, view, wanted.slice(0, IDS_MAX));
}

/** Loads single items again. */
export async function refreshItems(client: QueryClient, view: View, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const changesBefore = changes;
  const items = await fetchItems(ids);
  if (changes !== changesBefore) return;
  client.setQueryData<LoadedList>(
    keyOf(view),
    (list) => list && withItems(list, ids, items, contextOf(view)),
  );
}

/** What the server has confirmed is shown at once, before the list is loaded again. */
export function changeInLists(
  client: QueryClient,
  ids: readonly number[],
  change: Partial<InboxItem> | 'remove',
): void {
  changes += 1;
  for (const id of ids) if (change !== 'remove') changedIds.add(id);
  const changed = new Set(ids);
  for (const { queryKey } of client.getQueryCache().findAll({ queryKey: LIST_KEY })) {
    client.setQueryData<LoadedList>(queryKey, (list) => {
      if (!list) return list;
      const found = list.pages.flatMap(({ items }) => items).filter(({ id }) => changed.has(id));
      const next = change === 'remove' ? [] : found.map((item) => ({ ...item, ...change }));
      return withItems(list, ids, next, contextOf(queryKey[2] as View));
    });
  }
}

/** The next user must not see anything of the previous one. */
export function resetLists(): void {
  changedIds.clear();
  visibleIds.set([]);
  nextPageFailed.set(new Set());
}
