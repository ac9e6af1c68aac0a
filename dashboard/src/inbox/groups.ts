import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { NotificationGroup } from '../../../src/contract/groups.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { connection } from '../api/events.ts';
import type { Notification } from '../api/types.ts';
import { useStore } from '../shell/store.ts';
import { GROUPS_KEY, POLL_MS } from './notifications.ts';

/** Notifications that ask the same, in one row. In the order of the list. */
export type Group = readonly Notification[];

export interface Rows {
  /** The first of each group, and all that are in none. */
  items: readonly Notification[];
  /** By the id of any of its notifications. */
  groups: ReadonlyMap<number, Group>;
  loaded: boolean;
}

const NONE: readonly NotificationGroup[] = [];

/** Puts pending notifications of the list that ask the same into one row. */
export function useRows(shown: readonly Notification[]): Rows {
  const live = useStore(connection) === 'live';
  const { data = NONE, isPending } = useQuery({
    queryKey: GROUPS_KEY,
    queryFn: async ({ signal }) =>
      (await request<{ groups: NotificationGroup[] }>(calls.groups(), { signal })).groups,
    refetchInterval: live ? false : POLL_MS,
  });
  return useMemo(() => ({ ...toRows(shown, data), loaded: !isPending }), [shown, data, isPending]);
}

function toRows(shown: readonly Notification[], known: readonly NotificationGroup[]): Omit<Rows, 'loaded'> {
  if (known.length === 0) return { items: shown, groups: new Map() };
  const numberOf = new Map(known.flatMap(({ ids }, index) => ids.map((id) => [id, index] as const)));
  const members = new Map<number, Notification[]>();
  for (const item of shown) {
    const index = item.status === 'requested' ? numberOf.get(item.id) : undefined;
    if (index !== undefined) members.set(index, [...(members.get(index) ?? []), item]);
  }
  const groups = new Map<number, Group>();
  for (const group of members.values()) {
    if (group.length > 1) for (const { id } of group) groups.set(id, group);
  }
  return { items: shown.filter((item) => rowIdOf(groups, item.id) === item.id), groups };
}

/** The notification whose row shows this one. */
export const rowIdOf = (groups: Rows['groups'], id: number): number => groups.get(id)?.[0]?.id ?? id;

/** What an action on a row is about. */
export const idsOfRow = (groups: Rows['groups'], id: number): readonly number[] =>
  groups.get(id)?.map((item) => item.id) ?? [id];
