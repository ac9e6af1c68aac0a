import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { calls } from '../api/calls.ts';
import { askWhole } from '../api/client.ts';
import { connection } from '../api/events.ts';
import type { Notification, NotificationDetail } from '../api/types.ts';
import { useStore } from '../shell/store.ts';
import { asResolved, resolving } from './resolving.ts';

export const LIST_KEY = ['notifications'] as const;
/** Without a live connection the list is asked for now and then. */
const POLL_MS = 10_000;

interface Tagged {
  etag: string | null;
  items: readonly Notification[];
}
let known: Tagged | undefined;

export function forgetList(): void {
  known = undefined;
}

async function readList({ signal }: { signal: AbortSignal }): Promise<readonly Notification[]> {
  const headers: Record<string, string> = known?.etag ? { 'If-None-Match': known.etag } : {};
  const { body, headers: received } = await askWhole<Notification[] | undefined>(
    { ...calls.notifications(), headers },
    { signal },
  );
  if (body === undefined) return known!.items;
  known = { etag: received.get('etag'), items: body };
  return body;
}

/** What has not changed keeps its identity: of 10,000 rows only the changed ones are drawn again. */
function reuse(before: unknown, after: unknown): unknown {
  if (!before || before === after) return after;
  const earlier = new Map((before as Notification[]).map((item) => [item.id, item]));
  return (after as Notification[]).map((item) => {
    const same = earlier.get(item.id);
    return same && same.status === item.status && same.updated_at === item.updated_at ? same : item;
  });
}

export function useNotifications() {
  const live = useStore(connection) === 'live';
  const soon = useStore(resolving);
  const select = useCallback(
    (items: readonly Notification[]) =>
      soon.size === 0 ? items : items.map((item) => asResolved(item, soon)),
    [soon],
  );
  return useQuery({
    queryKey: LIST_KEY,
    queryFn: readList,
    select,
    structuralSharing: reuse,
    refetchInterval: live ? false : POLL_MS,
  });
}

/** Shows it as answered before the server has confirmed it. Gives the way back. */
export function assumeAnswered(client: QueryClient, id: number): () => void {
  void client.cancelQueries({ queryKey: LIST_KEY });
  const list = () => client.getQueryData<readonly Notification[]>(LIST_KEY);
  const put = (wanted: Notification) =>
    client.setQueryData(
      LIST_KEY,
      list()?.map((item) => (item.id === id ? wanted : item)),
    );
  const before = list()?.find((item) => item.id === id);
  if (before) put({ ...before, status: 'answered', updated_at: new Date().toISOString() });
  return () => {
    if (before) put(before);
    void client.invalidateQueries({ queryKey: LIST_KEY });
  };
}

const DETAILS_KEY = ['notification'] as const;
export const detailKey = (id: number) => [...DETAILS_KEY, id] as const;

/** Everything that shows what a change of one has changed. */
export const refreshInbox = (client: QueryClient): Promise<unknown> =>
  Promise.all(
    [LIST_KEY, DETAILS_KEY, ['overview']].map((queryKey) => client.invalidateQueries({ queryKey })),
  );

export const pendingAmong = (items: readonly Notification[], ids: ReadonlySet<number>): number[] =>
  items.filter(({ id, status }) => ids.has(id) && status === 'requested').map(({ id }) => id);

/** The question or the reason: what the person reads first. */
export function textOf({ context, requested_fields }: Notification): string {
  for (const field of requested_fields) {
    const value = (context as Record<string, unknown>)[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return '';
}

export const asDetail = (item: Notification): NotificationDetail => ({
  ...item,
  answer: null,
  delivery: null,
});
