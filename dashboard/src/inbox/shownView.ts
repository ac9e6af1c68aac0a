import type { NotificationType } from '../../../src/contract/notifications.ts';
import type { InboxTab } from '../../../src/contract/plain.ts';

/** What the list shows: the tab, the filters and the search. It is all in the address. */
export interface View {
  tab: InboxTab;
  type: NotificationType | '';
  /** `me`, `none`, the id of a person, or '' for everybody. */
  assigned: string;
  search: string;
  sort: 'newest' | 'oldest';
}
