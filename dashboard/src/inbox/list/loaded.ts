import type { InboxItem, InboxPage } from '../../../../src/contract/inbox.ts';
import type { View } from '../shownView.ts';

/** A page as it was loaded, or what is left of it. */
export interface LoadedPage extends InboxPage {
  /** Of an unchanged first page. */
  etag?: string | null;
  /** The cursor that it was loaded with. */
  cursor?: string | undefined;
}

/** The pages of a list so far, without a gap. */
export interface LoadedList {
  pages: readonly LoadedPage[];
  /** They may have changed since they were loaded. They are loaded again when they are on the screen. */
  staleIds: ReadonlySet<number>;
}

export interface ListContext {
  view: View;
  userId: number;
}

const NONE: ReadonlySet<number> = new Set();

export const listOf = (page: LoadedPage): LoadedList => ({ pages: [page], staleIds: NONE });

export const itemsIn = ({ pages }: LoadedList): InboxItem[] => pages.flatMap(({ items }) => items);

/** Whether an item is further down the list than another, in the order of the server. */
function isBelow(item: InboxItem, other: InboxItem, view: View): boolean {
  const [a, b] = view.sort === 'oldest' ? [other, item] : [item, other];
  const { tab, search } = view;
  if (tab === 'attention') return (a.delivery?.id ?? 0) < (b.delivery?.id ?? 0);
  const isByAnswer = search === '' && (tab === 'answered' || tab === 'resolved');
  if (isByAnswer && a.updated_at !== b.updated_at) return a.updated_at < b.updated_at;
  return a.id < b.id;
}
const isBeside = (item: InboxItem, other: InboxItem, view: View) =>
  !isBelow(item, other, view) && !isBelow(other, item, view);

/** A search is the server's work: what it has found stays. */
function belongs(item: InboxItem, { view: { tab, type, assigned }, userId }: ListContext): boolean {
  if (tab === 'attention' ? item.attention === null : tab !== 'all' && tab !== (item.outcome ?? 'open'))
    return false;
  if (type !== '' && item.notification_type !== type) return false;
  if (assigned === '') return true;
  if (assigned === 'none') return item.assigned_to === null;
  return item.assigned_to?.id === (assigned === 'me' ? userId : Number(assigned));
}

/** Unchanged items keep their identity, so that only changed rows render again. */
function reuse(items: readonly InboxItem[], list: LoadedList): InboxItem[] {
  const before = new Map(itemsIn(list).map((item) => [item.id, item]));
  return items.map((item) => {
    const same = before.get(item.id);
    return same && JSON.stringify(same) === JSON.stringify(item) ? same : item;
  });
}

/** The first page has been loaded again. Later pages keep what comes after it. */
export function withFirstPage(list: LoadedList, page: LoadedPage, view: View): LoadedList {
  const first: LoadedPage = { ...page, items: reuse(page.items, list) };
  const last = first.items.at(-1);
  // Nothing follows, or a page of few matches does not show where it ends.
  if (first.next_cursor === null || !last) return listOf(first);
  const listed = new Set(first.items.map(({ id }) => id));
  const rest = list.pages.flatMap((old) => {
    const items = old.items.filter((item) => isBelow(item, last, view) && !listed.has(item.id));
    return items.length > 0 ? [{ ...old, items }] : [];
  });
  return { pages: [first, ...rest], staleIds: idsIn(rest) };
}

/** The first page has not changed. */
export const withSameFirstPage = (list: LoadedList): LoadedList => ({
  ...list,
  staleIds: idsIn(list.pages.slice(1)),
});

const idsIn = (pages: readonly LoadedPage[]): ReadonlySet<number> =>
  new Set(pages.flatMap(({ items }) => items.map(({ id }) => id)));

/** One more page. Something may have moved into it meanwhile. */
export function withNextPage(list: LoadedList, page: LoadedPage): LoadedList {
  const known = idsIn(list.pages);
  const items = page.items.filter(({ id }) => !known.has(id));
  return { ...list, pages: [...list.pages, { ...page, items }] };
}

/** The last page has been loaded again: with the oldest first, what is new comes at the end. */
export function withLastPage(list: LoadedList, page: LoadedPage): LoadedList {
  return withNextPage(
    { ...list, pages: list.pages.slice(0, -1) },
    { ...page, items: reuse(page.items, list) },
  );
}

/** These have been loaded again, or changed by the user: each is replaced, removed, or put in its place. */
export function withItems(
  list: LoadedList,
  ids: readonly number[],
  changed: readonly InboxItem[],
  context: ListContext,
): LoadedList {
  const { view } = context;
  const wanted = new Set(ids);
  const fresh = new Map(reuse(changed, list).map((item) => [item.id, item]));
  const pages = list.pages.map((page) => {
    const items = page.items.flatMap((item) => {
      if (!wanted.has(item.id)) return [item];
      const next = fresh.get(item.id);
      if (!next || !belongs(next, context)) return [];
      return view.search !== '' || isBeside(next, item, view) ? [next] : [];
    });
    const isSame = items.length === page.items.length && items.every((item, n) => item === page.items[n]);
    return isSame ? page : { ...page, items, etag: null };
  });
  if (view.search === '') {
    const listed = idsIn(pages);
    for (const item of fresh.values())
      if (!listed.has(item.id) && belongs(item, context)) insert(pages, item, view);
  }
  return { pages, staleIds: new Set([...list.staleIds].filter((id) => !wanted.has(id))) };
}

/** Only where something loaded comes after it: further down it is loaded with its page. */
function insert(pages: LoadedPage[], item: InboxItem, view: View): void {
  const isAfter = (other: InboxItem) => isBelow(other, item, view);
  const found = pages.findIndex(({ items }) => items.some(isAfter));
  const isComplete = pages.at(-1)?.next_cursor === null;
  const index = found >= 0 ? found : isComplete ? pages.length - 1 : -1;
  const page = pages[index];
  if (!page) return;
  const at = page.items.findIndex(isAfter);
  const items = at < 0 ? [...page.items, item] : page.items.toSpliced(at, 0, item);
  pages[index] = { ...page, items, etag: null };
}
