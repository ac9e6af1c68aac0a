import { useState } from 'react';
import type { Notification } from '../api/types.ts';
import type { Rows } from '../inbox/groups.ts';
import { GroupPane, oldestOf } from './GroupPane.tsx';
import { NotificationPane } from './NotificationPane.tsx';

interface PaneProps {
  id: number | undefined;
  /** From the list: shown until the details are loaded. */
  known: Notification | undefined;
  rows: Rows;
  all: readonly Notification[];
}

/**
 * What is open: a notification, or all that ask the same. If somebody else asks the same while the user answers one, it
 * stays one, so that the answer goes only to whom the user has seen.
 */
export function Pane({ id, known, rows, all }: PaneProps) {
  const group = id === undefined ? undefined : rows.groups.get(id);
  const [openedAs, setOpenedAs] = useState<'one' | 'group' | undefined>();
  // The list may be loaded after the groups.
  if (openedAs === undefined && rows.loaded && known) setOpenedAs(group ? 'group' : 'one');
  return group && openedAs === 'group' ? (
    <GroupPane key={oldestOf(group).id} group={group} />
  ) : (
    <NotificationPane id={id} known={known} shown={rows.items} all={all} />
  );
}
