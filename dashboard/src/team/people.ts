import { useQuery } from '@tanstack/react-query';
import { request } from '../api/client.ts';
import { teamCalls } from './calls.ts';

export interface Person {
  id: number;
  name: string;
}

/** The people of the shop who can sign in, in the order of their names. */
export function usePeople(): readonly Person[] {
  const { data } = useQuery({
    queryKey: ['team', 'people'],
    queryFn: ({ signal }) =>
      request<(Person & { disabled_at: string | null })[]>(teamCalls.people(), { signal }),
    staleTime: 5 * 60_000,
  });
  return (data ?? [])
    .filter(({ disabled_at }) => disabled_at === null)
    .toSorted((one, other) => one.name.localeCompare(other.name));
}
