import type { Notification, NotificationType } from '../api/types.ts';
import { searchable } from '../searchable.ts';
import type { Query } from '../shell/route.ts';
import { createStore } from '../shell/store.ts';
import type { Conversation } from './conversations.ts';
import { textOfNotification } from './notifications.ts';

/** The filters of the inbox. */
export interface View {
  state: 'requested' | 'answered' | 'all';
  type: NotificationType | 'all';
  search: string;
}

/** The tabs of the inbox, as they are in the address. */
const STATES: Readonly<Record<string, View['state']>> = {
  open: 'requested',
  answered: 'answered',
  all: 'all',
};

export function readView({ tab = '', type, q = '' }: Query): View {
  const isType = type === 'user_question_request' || type === 'user_support_request';
  return { state: STATES[tab] ?? 'requested', type: isType ? type : 'all', search: q };
}

/** The filters as they are in the address. */
export function queryOfView({ state, type, search }: View): Record<string, string> {
  const tab = Object.keys(STATES).find((name) => STATES[name] === state)!;
  return { tab: tab === 'open' ? '' : tab, type: type === 'all' ? '' : type, q: search };
}

/** The row that shortcuts act on. On wide screens, moving it also opens the notification. */
export const cursor = createStore<number | undefined>(undefined);
export const selection = createStore<ReadonlySet<number>>(new Set());
/** Those of the open group that an action is about. */
export const tickedInGroup = createStore<ReadonlySet<number> | undefined>(undefined);

/** Selects them, or none of them if all are selected. */
export function toggleSelected(ids: readonly number[]): void {
  const next = new Set(selection.get());
  const all = ids.every((id) => next.has(id));
  for (const id of ids) {
    if (all) next.delete(id);
    else next.add(id);
  }
  selection.set(next);
}

export function deselect(ids: readonly number[]): void {
  const next = new Set(selection.get());
  for (const id of ids) next.delete(id);
  selection.set(next);
}

/** A search ignores case and accents: "lucia" finds Lucía. */
export function applyView(
  items: readonly Notification[],
  { state, type, search }: View,
  options: {
    conversations: ReadonlyMap<number, Conversation>;
    oldestFirst: boolean;
  },
): Notification[] {
  const words = searchable(search).split(/\s+/).filter(Boolean);
  const matches = (item: Notification) => {
    if (state !== 'all' && item.status !== state) return false;
    if (type !== 'all' && item.notification_type !== type) return false;
    if (words.length === 0) return true;
    const customer = options.conversations.get(item.conversation_id);
    const searchText = searchable(
      `${item.id} ${customer?.customer_name ?? ''} ${customer?.customer_phone ?? ''} ${item.context.lead_phone ?? ''} ${textOfNotification(item)}`,
    );
    return words.every((word) => searchText.includes(word));
  };
  const shown = items.filter(matches);
  const pending = shown.filter(({ status }) => status === 'requested');
  if (options.oldestFirst) pending.reverse();
  const answered = shown
    .filter(({ status }) => status === 'answered')
    .sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1));
  return [...pending, ...answered];
}

export interface Counts {
  requested: number;
  answered: number;
  all: number;
}

export function countStates(items: readonly Notification[], type: View['type']): Counts {
  const counts: Counts = { requested: 0, answered: 0, all: 0 };
  for (const { status, notification_type } of items) {
    if (type !== 'all' && notification_type !== type) continue;
    counts[status] += 1;
    counts.all += 1;
  }
  return counts;
}
