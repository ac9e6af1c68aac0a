import { useEffect, useState } from 'react';
import type { AnswerResult } from '../../../../src/contract/groups.ts';
import type { Group, Rows } from '../../inbox/groups.ts';
import { navigate } from '../../shell/route.ts';
import { useStore } from '../../shell/store.ts';
import { sentToMany } from './sendToMany.ts';

interface Opening {
  id: number | undefined;
  /** The notification that is opened instead, because the first one has left the group. */
  follows: number | undefined;
  /** Changes when the user opens something else. */
  key: number;
  openedAs: 'one' | 'group' | undefined;
  /** As it was shown last. */
  group: Group | undefined;
  /** Those that the user took out. */
  left: ReadonlySet<number>;
  sentBefore: readonly AnswerResult[];
}

/**
 * What is open: a notification, or all that ask the same. If somebody else asks the same while the user answers one, it
 * stays one, so that the answer goes only to whom the user has seen. A group stays open, with what the user has written
 * and ticked, when the notification by which it was opened leaves it: somebody else has answered it, or it is not the
 * same question.
 */
export function useOpenGroup(openId: number | undefined, rows: Rows) {
  const sent = useStore(sentToMany);
  const [opening, setOpening] = useState(() => start(openId, 0, sent.results));
  let now = opening;
  if (now.follows !== undefined && openId === now.follows) now = { ...now, id: openId, follows: undefined };
  else if (openId !== now.id) now = start(openId, now.key + 1, sent.results);

  const own = openId === undefined ? undefined : rows.groups.get(openId);
  if (now.openedAs === undefined && rows.loaded) now = { ...now, openedAs: own ? 'group' : 'one' };

  const isBusy = [openId, ...(now.group ?? []).map(({ id }) => id)].some(
    (id) => id !== undefined && sent.busy.has(id),
  );
  let group: Group | undefined;
  if (now.openedAs === 'group') {
    const isSent = sent.complete && sent.results !== now.sentBefore;
    group = isBusy ? now.group : (own ?? (isSent ? undefined : restOf(now, rows)));
  }
  if (group?.length === 1 && now.group?.length === 1 && group[0] === now.group[0]) group = now.group;
  const follows = group?.some(({ id }) => id === openId) ? undefined : group?.[0]?.id;
  if (!isBusy && (now.group !== group || now.follows !== follows)) now = { ...now, group, follows };
  if (now !== opening) setOpening(now);

  const { key, follows: next } = now;
  useEffect(() => {
    if (next !== undefined) navigate({ page: 'inbox', id: next }, 'replace');
  }, [next]);
  return {
    key,
    id: next ?? openId,
    group,
    /** Call it before a notification is taken out of the group. */
    leave: (id: number) => setOpening((before) => ({ ...before, left: new Set([...before.left, id]) })),
  };
}

const start = (id: number | undefined, key: number, sentBefore: readonly AnswerResult[]): Opening => ({
  ...{ id, key, sentBefore, left: new Set() },
  ...{ follows: undefined, openedAs: undefined, group: undefined },
});

/** What is left of a group without the notification by which it was opened, even if it is only one. */
function restOf({ group = [], left, id: openId }: Opening, rows: Rows) {
  for (const { id } of group) {
    const found = left.has(id) ? undefined : rows.groups.get(id);
    if (found) return found;
  }
  const ids = new Set(group.map(({ id }) => id));
  const pending = rows.known.filter(
    ({ id, status }) => status === 'requested' && ids.has(id) && !left.has(id),
  );
  const last = pending.find(({ id }) => id === openId) ?? pending[0];
  return last && [last];
}
