import { type QueryClient, useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { requestWithHeaders } from '../api/client.ts';
import { connection } from '../api/events.ts';
import type { Notification, NotificationDetail } from '../api/types.ts';
import { useStore } from '../shell/store.ts';

export const LIST_KEY = ['notifications'] as const;
export const GROUPS_KEY = ['groups'] as const;
/** Polling interval without a live connection. */
export const POLL_MS = 10_000;

interface CachedList {
  etag: string | null;
  items: readonly Notification[];
}
let cached: CachedList | undefined;

export function resetList(): void {
  cached = undefined;
}

async function fetchList({ signal }: { signal: AbortSignal }): Promise<readonly Notification[]> {
  const headers: Record<string, string> = cached?.etag ? { 'If-None-Match': cached.etag } : {};
  const { body, headers: received } = await requestWithHeaders<Notification[] | undefined>(
    { ...calls.notifications(), headers },
    { signal },
  );
  if (body === undefined) return cached!.items;
  cached = { etag: received.get('etag'), items: body };
  return body;
}

/** Unchanged notifications keep their identity, so that of 10,000 rows only the changed ones render again. */
function reuseUnchanged(before: unknown, after: unknown): unknown {
  if (!before || before === after) return after;
  const earlier = new Map((before as Notification[]).map((item) => [item.id, item]));
  return (after as Notification[]).map((item) => {
    const same = earlier.get(item.id);
    return same && same.status === item.status && same.updated_at === item.updated_at ? same : item;
  });
}

export function useNotifications() {
  const live = useStore(connection) === 'live';
  return useQuery({
    queryKey: LIST_KEY,
    queryFn: fetchList,
    structuralSharing: reuseUnchanged,
    refetchInterval: live ? false : POLL_MS,
  });
}

/** What the server has confirmed is shown at once, before the list is loaded again. */
function changeInList(
  client: QueryClient,
  ids: readonly number[],
  change: Partial<Notification> | 'remove',
): void {
  void client.cancelQueries({ queryKey: LIST_KEY });
  const changed = new Set(ids);
  client.setQueryData<readonly Notification[]>(LIST_KEY, (list) =>
    change === 'remove'
      ? list?.filter(({ id }) => !changed.has(id))
      : list?.map((item) => (changed.has(item.id) ? ({ ...item, ...change } as Notification) : item)),
  );
}

type AnsweredDetail = Partial<Pick<NotificationDetail, 'outcome' | 'undo_until' | 'answered_by'>> & {
  answer: object | null;
};

/** `detail` is what is known of it until it is loaded. */
export function showAsAnswered(client: QueryClient, ids: readonly number[], detail: AnsweredDetail): void {
  const change = { status: 'answered', updated_at: new Date().toISOString() } as const;
  changeInList(client, ids, change);
  for (const id of ids) changeDetail(client, id, { ...change, ...detail } as Partial<NotificationDetail>);
}

export function showAsPending(client: QueryClient, ids: readonly number[]): void {
  changeInList(client, ids, { status: 'requested' });
  const pending = { status: 'requested', answer: null, outcome: null, undo_until: null } as const;
  for (const id of ids) changeDetail(client, id, pending);
}

export function showAsDeleted(client: QueryClient, ids: readonly number[]): void {
  changeInList(client, ids, 'remove');
  for (const id of ids) client.removeQueries({ queryKey: detailKey(id) });
}

function changeDetail(client: QueryClient, id: number, change: Partial<NotificationDetail>): void {
  void client.cancelQueries({ queryKey: detailKey(id) });
  client.setQueryData<NotificationDetail>(detailKey(id), (item) =>
    item ? ({ ...item, ...change } as NotificationDetail) : item,
  );
}

const DETAILS_KEY = ['notification'] as const;
export const detailKey = (id: number) => [...DETAILS_KEY, id] as const;

/** Reloads everything that depends on the notifications. */
export const refreshInbox = (client: QueryClient): Promise<unknown> =>
  Promise.all(
    [LIST_KEY, GROUPS_KEY, DETAILS_KEY, ['overview']].map((queryKey) =>
      client.invalidateQueries({ queryKey }),
    ),
  );

export const pendingAmong = (items: readonly Notification[], ids: ReadonlySet<number>): number[] =>
  items.filter(({ id, status }) => ids.has(id) && status === 'requested').map(({ id }) => id);

/** The question, or the reason of a support request. */
export function textOfNotification({ context, requested_fields }: Notification): string {
  for (const field of requested_fields) {
    const value = (context as Record<string, unknown>)[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return '';
}

export const toDetail = (item: Notification): NotificationDetail => ({
  ...item,
  answer: null,
  answered_by: null,
  delivery: null,
  ask: null,
  assigned_to: null,
  notes: 0,
  outcome: null,
  undo_until: null,
  lesson: null,
});
