import { INBOX_TABS, type InboxTab } from '../../../src/contract/plain.ts';
import type { Query } from '../shell/route.ts';
import { createStore } from '../shell/store.ts';
import type { View } from './shownView.ts';

export type { View };

export const TABS = INBOX_TABS;

const isTab = (tab: string): tab is InboxTab => INBOX_TABS.some((name) => name === tab);

export function readView({ tab = '', type = '', assigned = '', q = '', sort }: Query): View {
  return {
    tab: isTab(tab) ? tab : 'open',
    type: type === 'user_question_request' || type === 'user_support_request' ? type : '',
    assigned: /^(me|none|\d{1,15})$/.test(assigned) ? assigned : '',
    search: q.slice(0, SEARCH_LENGTH_MAX),
    sort: sort === 'oldest' ? 'oldest' : 'newest',
  };
}

/** The server takes no more. */
export const SEARCH_LENGTH_MAX = 200;

/** The view as it is in the address, and in the query of the list. What is usual is left out. */
export function queryOfView({ tab, type, assigned, search, sort }: View): Record<string, string> {
  const usual = { tab: tab === 'open' ? '' : tab, sort: sort === 'newest' ? '' : sort };
  return { tab: usual.tab, type, assigned, q: search, sort: usual.sort };
}

/** Whether the list shows only some of its tab. */
export const isFiltered = ({ type, assigned, search }: View): boolean =>
  type !== '' || assigned !== '' || search !== '';

/** The row that shortcuts act on. On wide screens, moving it also opens the notification. */
export const cursor = createStore<number | undefined>(undefined);
export const selection = createStore<ReadonlySet<number>>(new Set());
/** Why an action on a selected notification failed: an error of the API. */
export const failures = createStore<ReadonlyMap<number, unknown>>(new Map());
/** Those of the open group that an action is about. */
export const tickedInGroup = createStore<ReadonlySet<number> | undefined>(undefined);

/** Selects exactly these. */
export function select(ids: Iterable<number>): void {
  selection.set(new Set(ids));
  failures.set(new Map());
}

/** Selects them, or none of them if all are selected. */
export function toggleSelected(ids: readonly number[]): void {
  const next = new Set(selection.get());
  const all = ids.every((id) => next.has(id));
  for (const id of ids) {
    if (all) next.delete(id);
    else next.add(id);
  }
  select(next);
}
