import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ListedPresence } from '../../../src/contract/teamwork.ts';
import { request } from '../api/client.ts';
import { teamCalls } from './calls.ts';
import { usePeople } from './people.ts';

export type Others = readonly ListedPresence[];

const NONE: Others = [];
/** What the server takes in one request: far more than fit on a screen. */
const IDS_MAX = 100;
/** Fast scrolling does not ask about what is already gone. */
const SCROLLED_MS = 150;
/** Somebody whose browser was closed goes without an event. */
const CHECK_MS = 15_000;

/** Who else has one of these open, by notification: one request for all rows on the screen. `ids` is a list with commas. */
export function usePresences(ids: string): ReadonlyMap<number, Others> {
  const isTeam = usePeople().length > 1;
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(ids), SCROLLED_MS);
    return () => clearTimeout(timer);
  }, [ids]);
  // An event makes it reload.
  const { data = NONE } = useQuery({
    queryKey: ['presence', 'list', asked],
    queryFn: ({ signal }) =>
      request<ListedPresence[]>(teamCalls.presences(asked.split(',').slice(0, IDS_MAX).map(Number)), {
        signal,
      }),
    enabled: isTeam && asked !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchInterval: ({ state }) => (state.data?.length ? CHECK_MS : false),
    placeholderData: (before) => before,
  });
  return Map.groupBy(data, ({ notification_id }) => notification_id);
}

/** Without anybody it is always the same array, so that rows do not render again. */
export function presentAt(presences: ReadonlyMap<number, Others>, ids: readonly number[]): Others {
  const others = presences.size === 0 ? NONE : ids.flatMap((id) => presences.get(id) ?? NONE);
  return others.length === 0 ? NONE : others;
}
