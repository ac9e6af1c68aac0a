import { useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';

/** While the setting is not loaded. */
const DEFAULT_SECONDS = 5;

/** How long a message waits before it is sent, so that it can be undone: a setting of the shop. */
export function useUndoSeconds(): number {
  const query = useQuery({
    queryKey: ['merchant'],
    queryFn: ({ signal }) => request<{ undo_seconds: number }>(calls.merchant(), { signal }),
    staleTime: 60_000,
  });
  return query.data?.undo_seconds ?? DEFAULT_SECONDS;
}
