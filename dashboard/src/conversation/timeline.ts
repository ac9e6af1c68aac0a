import { type InfiniteData, type QueryClient, useInfiniteQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { Timeline as TimelineSchema, Turn } from '../../../src/contract/timeline.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';

export type { Turn } from '../../../src/contract/timeline.ts';
export type Timeline = Static<typeof TimelineSchema>;

const KEY = 'timeline';
const keyOf = (conversationId: number) => [KEY, conversationId] as const;
/** Events report changes; polling covers a missing connection. */
const POLL_MS = 10_000;
const OPEN = new Set(['queued', 'sending', 'waiting']);

export interface Conversation {
  /** Oldest first. Undefined until they are loaded. */
  turns: readonly Turn[] | undefined;
  /** How the customer can be reached now. */
  latest: Timeline | undefined;
  error: unknown;
  hasEarlier: boolean;
  isLoadingEarlier: boolean;
  loadEarlier(): void;
  reload(): void;
}

/** What was said. Earlier pages are loaded on request. */
export function useTimeline(conversationId: number): Conversation {
  const query = useInfiniteQuery({
    queryKey: keyOf(conversationId),
    queryFn: ({ pageParam, signal }) =>
      request<Timeline>(calls.timeline(conversationId, pageParam), { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_before }) => next_before ?? undefined,
    refetchInterval: ({ state: { data } }) =>
      data?.pages[0]?.items.some(({ delivery }) => delivery && OPEN.has(delivery.state)) ? POLL_MS : false,
  });
  const pages = query.data?.pages;
  return {
    turns: pages?.toReversed().flatMap(({ items }) => items),
    latest: pages?.[0],
    error: query.error,
    hasEarlier: query.hasNextPage,
    isLoadingEarlier: query.isFetchingNextPage,
    loadEarlier: () => void query.fetchNextPage(),
    reload: () => void query.refetch(),
  };
}

export const refreshTimeline = (client: QueryClient, conversationId: number) =>
  client.invalidateQueries({ queryKey: keyOf(conversationId) });

/** Shows a change of the conversation before the server has confirmed it. */
export function changeConversation(
  client: QueryClient,
  conversationId: number,
  change: Partial<Timeline['conversation']>,
): void {
  client.setQueryData<InfiniteData<Timeline>>(
    keyOf(conversationId),
    (data) =>
      data && {
        ...data,
        pages: data.pages.map((page) => ({ ...page, conversation: { ...page.conversation, ...change } })),
      },
  );
}
