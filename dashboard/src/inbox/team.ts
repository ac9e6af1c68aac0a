import { useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';

interface Colleague {
  id: number;
  name: string;
  disabled_at: string | null;
}

const NONE: readonly Colleague[] = [];
const STALE_MS = 300_000;

/** Who can take care of a notification. */
export function useTeam(): readonly Colleague[] {
  const { data = NONE } = useQuery({
    queryKey: ['team'],
    queryFn: ({ signal }) => request<Colleague[]>(calls.team(), { signal }),
    staleTime: STALE_MS,
    retry: false,
  });
  return data.filter(({ disabled_at }) => disabled_at === null);
}

/** "AR" for Alma Reyes. */
export const initialsOf = (name: string): string => {
  const words = name.trim().split(/\s+/);
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map((word) => [...(word ?? '')][0] ?? '');
  return letters.join('').toLocaleUpperCase();
};
