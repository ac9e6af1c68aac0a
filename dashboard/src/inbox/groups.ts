import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { NotificationGroup } from '../../../src/contract/groups.ts';
import type { InboxItem } from '../../../src/contract/inbox.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { connection } from '../api/events.ts';
import { useStore } from '../shell/store.ts';
import { POLL_MS, useItems } from './list/items.ts';
import { GROUPS_KEY } from './notifications.ts';

/** Notifications that ask the same, in one row. In the order of the list. */
export type Group = readonly InboxItem[];

export interface Rows {
  /** The first of each group, and all that are in none. */
  items: readonly InboxItem[];
  /** By the id of any of its notifications. */
  groups: ReadonlyMap<number, Group>;
  /** The items of the list, and those of its groups that are on later pages. */
  known: readonly InboxItem[];
  /** Whether it is known if the open notification is in a group. */
  loaded: boolean;
}

const NONE: readonly NotificationGroup[] = [];
const NO_ITEMS: readonly InboxItem[] = [];
/** Of the groups in the list, at most this many are loaded besides it. */
const MEMBERS_MAX = 500;

/** Puts pending notifications that ask the same into one row. With a filter, only those that the list shows. */
export function useRows(
  shown: readonly InboxItem[],
  { openId, filtered, ordered }: { openId: number | undefined; filtered: boolean; ordered: 'asc' | 'desc' },
): Rows {
  const live = useStore(connection) === 'live';
  const { data = NONE, isPending } = useQuery({
    queryKey: GROUPS_KEY,
    queryFn: async ({ signal }) =>
      (await request<{ groups: NotificationGroup[] }>(calls.groups(), { signal })).groups,
    refetchInterval: live ? false : POLL_MS,
  });
  const missing = useMemo(
    () => (filtered ? [] : missingIn(data, shown, openId)),
    [data, shown, openId, filtered],
  );
  const { data: more = NO_ITEMS, isSuccess, isPlaceholderData } = useItems(missing);
  const loaded = !isPending && (missing.length === 0 || (isSuccess && !isPlaceholderData));
  return useMemo(() => {
    const wanted = new Set(missing);
    const others = more.filter(({ id }) => wanted.has(id));
    const known = [...shown, ...others.sort((a, b) => (ordered === 'asc' ? a.id - b.id : b.id - a.id))];
    return { ...toRows(shown, known, data), known, loaded };
  }, [shown, more, missing, data, loaded, ordered]);
}

/** Those that are not in the list, of the groups that are, and of the open one. */
function missingIn(
  groups: readonly NotificationGroup[],
  shown: readonly InboxItem[],
  openId?: number,
): number[] {
  const listed = new Set(shown.map(({ id }) => id));
  return groups
    .filter(({ ids }) => ids.some((id) => listed.has(id) || id === openId))
    .flatMap(({ ids }) => ids.filter((id) => !listed.has(id)))
    .slice(0, MEMBERS_MAX);
}

function toRows(shown: readonly InboxItem[], all: readonly InboxItem[], known: readonly NotificationGroup[]) {
  if (known.length === 0) return { items: shown, groups: new Map<number, Group>() };
  const numberOf = new Map(known.flatMap(({ ids }, index) => ids.map((id) => [id, index] as const)));
  const members = new Map<number, InboxItem[]>();
  for (const item of all) {
    const index = item.status === 'requested' ? numberOf.get(item.id) : undefined;
    if (index !== undefined) members.set(index, [...(members.get(index) ?? []), item]);
  }
  const groups = new Map<number, Group>();
  for (const group of members.values()) {
    if (group.length > 1) for (const { id } of group) groups.set(id, group);
  }
  return { items: shown.filter((item) => rowIdOf(groups, item.id) === item.id), groups };
}

/** A customer may have asked more than once. */
export const customersIn = (items: readonly InboxItem[]): number =>
  new Set(items.map(({ conversation }) => conversation.id)).size;

/** The notification whose row shows this one. */
export const rowIdOf = (groups: Rows['groups'], id: number): number => groups.get(id)?.[0]?.id ?? id;

/** What an action on a row is about. */
export const idsOfRow = (groups: Rows['groups'], id: number): readonly number[] =>
  groups.get(id)?.map((item) => item.id) ?? [id];
