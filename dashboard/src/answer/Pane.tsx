import type { InboxItem } from '../../../src/contract/inbox.ts';
import type { Group } from '../inbox/groups.ts';
import { GroupPane } from './group/GroupPane.tsx';
import { NotificationPane } from './NotificationPane.tsx';

interface PaneProps {
  id: number | undefined;
  /** If all of them are open. */
  group: Group | undefined;
  /** Called before one is taken out of the group. */
  onUngroup: (id: number) => void;
  shown: readonly InboxItem[];
}

/** What is open: a notification, or all that ask the same. */
export function Pane({ group, onUngroup, ...one }: PaneProps) {
  return group ? <GroupPane group={group} onUngroup={onUngroup} /> : <NotificationPane {...one} />;
}
