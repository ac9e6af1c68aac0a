import type { QueryClient } from '@tanstack/react-query';
import type { InboxItem } from '../../../src/contract/inbox.ts';
import type { Notification, NotificationDetail } from '../api/types.ts';
import { refreshCounts } from './counts.ts';
import { changeInLists, refreshLists } from './list/items.ts';

export const GROUPS_KEY = ['groups'] as const;
const DETAILS_KEY = ['notification'] as const;
export const detailKey = (id: number) => [...DETAILS_KEY, id] as const;

type AnsweredDetail = Partial<Pick<NotificationDetail, 'undo_until' | 'answered_by'>> & {
  outcome?: 'answered' | 'resolved';
  answer: object | null;
};

/** `detail` is what is known of it until it is loaded. */
export function showAsAnswered(client: QueryClient, ids: readonly number[], detail: AnsweredDetail): void {
  const change = { status: 'answered', updated_at: new Date().toISOString() } as const;
  changeInLists(client, ids, { ...change, outcome: detail.outcome ?? 'answered' });
  for (const id of ids) changeDetail(client, id, { ...change, ...detail } as Partial<NotificationDetail>);
}

export function showAsPending(client: QueryClient, ids: readonly number[]): void {
  changeInLists(client, ids, { status: 'requested', outcome: null, undo_until: null, attention: null });
  const pending = { status: 'requested', answer: null, outcome: null, undo_until: null } as const;
  for (const id of ids) changeDetail(client, id, pending);
}

export function showAsDeleted(client: QueryClient, ids: readonly number[]): void {
  changeInLists(client, ids, 'remove');
  for (const id of ids) client.removeQueries({ queryKey: detailKey(id) });
}

function changeDetail(client: QueryClient, id: number, change: Partial<NotificationDetail>): void {
  void client.cancelQueries({ queryKey: detailKey(id) });
  client.setQueryData<NotificationDetail>(detailKey(id), (item) =>
    item ? ({ ...item, ...change } as NotificationDetail) : item,
  );
}

/** Refreshes everything that depends on the notifications: of the list, what is on the screen. */
export function refreshInbox(client: QueryClient): Promise<unknown> {
  refreshCounts(client);
  const others = [GROUPS_KEY, DETAILS_KEY, ['inbox', 'items'], ['inbox', 'newest'], ['overview']];
  return Promise.all([
    refreshLists(client),
    ...others.map((queryKey) => client.invalidateQueries({ queryKey })),
  ]);
}

export const pendingAmong = (items: Iterable<InboxItem>, ids: ReadonlySet<number>): number[] =>
  [...items].filter(({ id, status }) => ids.has(id) && status === 'requested').map(({ id }) => id);

/** The question, or the reason of a support request. */
export function textOfNotification({ context, requested_fields }: Notification): string {
  for (const field of requested_fields) {
    const value = (context as Record<string, unknown>)[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return '';
}
