import { readAddress, type Target, writeAddress } from './addresses.ts';
import { createStore, useStore } from './store.ts';

export type { Target } from './addresses.ts';

/** Filters and the like. A parameter without a value is not part of the address. */
export type Query = Readonly<Record<string, string>>;

/** What is open. It is all in the address, so that reload, Back and links work. */
export interface Route extends Target {
  query: Query;
}
type PageName = Route['page'];

/** Stored with each entry of the browser's history. */
interface EntryState {
  entry: string;
  /** The page that this one was opened from. */
  from?: string;
}

const readRoute = (): Route => ({
  ...readAddress(location.pathname),
  query: Object.fromEntries(new URLSearchParams(location.search)),
});

const readEntry = () => (history.state as Partial<EntryState> | null)?.entry ?? 'first';

const route = createStore<Route>(readRoute());
/** The current entry of the history, and whether Back, Forward or a reload has led to it. */
export const historyEntry = createStore({ entry: readEntry(), isRevisited: true });
/** A page that is opened again has the filters that it had before. */
const lastQueries = new Map<PageName, Query>([[route.get().page, route.get().query]]);

addEventListener('popstate', () => {
  historyEntry.set({ entry: readEntry(), isRevisited: true });
  show(readRoute());
});

function show(next: Route): void {
  lastQueries.set(next.page, next.query);
  route.set(next);
}

type RouteTarget = Target & { query?: Query };

const queryOf = ({ page, query = lastQueries.get(page) ?? {} }: RouteTarget) => query;

/** The address, for links. Without a `query` it has the filters that the page had last. */
export function pathOf(target: RouteTarget): string {
  const params = new URLSearchParams(Object.entries(queryOf(target)).filter(([, value]) => value !== ''));
  return writeAddress(target) + (params.size > 0 ? `?${params}` : '');
}

/** Use `replace` for steps that Back should skip, such as moving along a list or typing a search. */
export function navigate(target: RouteTarget, how: 'push' | 'replace' = 'push'): void {
  const path = pathOf(target);
  if (path !== location.pathname + location.search) {
    if (how === 'push') {
      const state: EntryState = { entry: `${Date.now()}.${Math.random()}`, from: location.pathname };
      history.pushState(state, '', path);
      historyEntry.set({ entry: state.entry, isRevisited: false });
    } else history.replaceState(history.state, '', path);
  }
  show({ ...target, query: queryOf(target) });
}

/** Opens an address of the app from a link, unless the browser shall open it elsewhere. */
export function follow(
  event: { ctrlKey: boolean; metaKey: boolean; shiftKey: boolean; preventDefault(): void },
  to: RouteTarget,
): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  navigate(to);
}

/** From a detail to its list. If the list is the page before, this is the same as Back, with its scroll position. */
export function goBack(target: RouteTarget): void {
  const { from } = (history.state as Partial<EntryState> | null) ?? {};
  const { page, id } = readAddress(from ?? '/unknown');
  if (page === target.page && id === target.id) history.back();
  else navigate(target);
}

/** Changes some parameters of the current page. Undefined and '' remove one. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  how: 'push' | 'replace' = 'replace',
): void {
  const { query, ...current } = route.get();
  const changed = Object.entries({ ...query, ...changes }).filter(([, value]) => value);
  navigate({ ...current, query: Object.fromEntries(changed) as Query }, how);
}

/** The next user starts without the filters of the previous one. */
export function forgetQueries(): void {
  lastQueries.clear();
  lastQueries.set(route.get().page, route.get().query);
}

export const currentRoute = route.get;
export const useRoute = (): Route => useStore(route);

/** One parameter of the address. It is not in the address while it has its usual value. */
export function useQueryParam(
  name: string,
  usual = '',
): [value: string, set: (value: string, how?: 'push' | 'replace') => void] {
  const value = useRoute().query[name] ?? usual;
  return [value, (next, how) => setQuery({ [name]: next === usual ? undefined : next }, how)];
}
