import type { NotificationType } from '../../contract/notifications.ts';
import type { InboxTab } from '../../contract/plain.ts';

/** The tabs that are states of a notification. `attention` is a state of its message. */
export type StateTab = Exclude<InboxTab, 'attention'>;

/** SQL: the notifications of a tab. */
export const TAB_CONDITIONS: Readonly<Record<StateTab, string>> = {
  open: `status = 'requested'`,
  answered: `outcome = 'answered'`,
  resolved: `outcome = 'resolved'`,
  all: 'true',
};

export interface Filter {
  tab: InboxTab;
  /** Undefined: of every type. */
  type: NotificationType | undefined;
  /** The id of a person. Undefined: of anybody and nobody. */
  assigned: number | 'none' | undefined;
}

/** SQL: the conditions of a filter besides its tab. */
export const otherConditions = ({ type, assigned }: Pick<Filter, 'type' | 'assigned'>): string[] => [
  ...(type === undefined ? [] : [`notification_type = '${type}'`]),
  ...(assigned === undefined
    ? []
    : [assigned === 'none' ? 'assigned_to is null' : `assigned_to = ${assigned}`]),
];
