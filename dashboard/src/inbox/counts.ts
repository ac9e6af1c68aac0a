import { keepPreviousData, type QueryClient, useQuery } from '@tanstack/react-query';
import type { InboxCounts } from '../../../src/contract/inbox.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { connection } from '../api/events.ts';
import { useStore } from '../shell/store.ts';
import type { View } from './view.ts';

const COUNTS_KEY = ['inboxCounts'] as const;
/** A message needs attention when it has waited too long, without an event. */
const RECOUNT_MS = 60_000;
const POLL_MS = 10_000;

type Counted = Pick<View, 'type' | 'assigned' | 'search'>;
export const UNFILTERED: Counted = { type: '', assigned: '', search: '' };

/** How many each tab has, of what the filters and the search leave. */
export function useCounts({ type, assigned, search }: Counted): InboxCounts | undefined {
  const live = useStore(connection) === 'live';
  const counted = { type, assigned, search };
  const { data } = useQuery({
    queryKey: [...COUNTS_KEY, counted],
    queryFn: ({ signal }) => request<InboxCounts>(calls.inboxCounts(counted), { signal }),
    refetchInterval: live ? RECOUNT_MS : POLL_MS,
    placeholderData: keepPreviousData,
  });
  return data;
}

const PAUSE_MS = 1000;
let lastAt = 0;
let waiting: ReturnType<typeof setTimeout> | undefined;

/** Counts again, at most once a second: counting costs the server more than a page. */
export function refreshCounts(client: QueryClient): void {
  if (waiting !== undefined) return;
  const wait = Math.max(0, lastAt + PAUSE_MS - Date.now());
  waiting = setTimeout(() => {
    waiting = undefined;
    lastAt = Date.now();
    void client.invalidateQueries({ queryKey: COUNTS_KEY });
  }, wait);
}
