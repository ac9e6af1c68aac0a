import type { Notification, NotificationType } from '../api/types.ts';
import { createStore } from '../shell/store.ts';
import type { Undoable } from '../shell/undo.ts';
import type { Conversation } from './conversations.ts';
import { textOf } from './list.ts';

/** What of the inbox is shown. */
export interface View {
  state: 'requested' | 'answered' | 'all';
  type: NotificationType | 'all';
  search: string;
}

export const view = createStore<View>({ state: 'requested', type: 'all', search: '' });
/** The row that the keys act on; what is open follows it where both are visible. */
export const cursor = createStore<number | undefined>(undefined);
export const selection = createStore<ReadonlySet<number>>(new Set());
/** Deleted, but still to be undone. */
export const hidden = createStore<Undoable>(new Map());

export function toggleSelected(id: number): void {
  const next = new Set(selection.get());
  if (!next.delete(id)) next.add(id);
  selection.set(next);
}

export function deselect(ids: readonly number[]): void {
  const next = new Set(selection.get());
  for (const id of ids) next.delete(id);
  selection.set(next);
}

/** Without case and accents: "lucia" finds Lucía. */
const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

export function applyView(
  items: readonly Notification[],
  { state, type, search }: View,
  options: {
    hidden: Undoable;
    conversations: ReadonlyMap<number, Conversation>;
    oldestFirst: boolean;
  },
): Notification[] {
  const words = plain(search).split(/\s+/).filter(Boolean);
  const fits = (item: Notification) => {
    if (options.hidden.has(item.id)) return false;
    if (state !== 'all' && item.status !== state) return false;
    if (type !== 'all' && item.notification_type !== type) return false;
    if (words.length === 0) return true;
    const customer = options.conversations.get(item.conversation_id);
    const hay = plain(
      `${item.id} ${textOf(item)} ${customer?.customer_name ?? ''} ${customer?.customer_phone ?? ''} ${item.context.lead_phone ?? ''}`,
    );
    return words.every((word) => hay.includes(word));
  };
  const shown = items.filter(fits);
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

export function countStates(items: readonly Notification[], type: View['type'], gone: Undoable): Counts {
  const counts: Counts = { requested: 0, answered: 0, all: 0 };
  for (const { id, status, notification_type } of items) {
    if (gone.has(id) || (type !== 'all' && notification_type !== type)) continue;
    counts[status] += 1;
    counts.all += 1;
  }
  return counts;
}
