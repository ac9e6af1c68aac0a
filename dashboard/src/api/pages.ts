import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { type Call, request } from './client.ts';

/** A list that comes in pages, each with the cursor of the next one. */
export const useCursorPages = <Page extends { next_cursor: string | null }>(
  queryKey: QueryKey,
  callOf: (cursor: string | undefined) => Call,
  options: { staleTime?: number } = {},
) =>
  useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => request<Page>(callOf(pageParam), { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    ...options,
  });
