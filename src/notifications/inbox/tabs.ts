import type { InboxTab, Outcome } from '../../contract/inbox.ts';
import type { NotificationType, Status } from '../../contract/notifications.ts';
import { CANCELLED } from '../asks/end.ts';

/** The tabs that are states of a notification. `attention` is a state of its message. */
export type StateTab = Exclude<InboxTab, 'attention'>;

/** As in the partial indexes. An answer is JSON, where only a member of its own can have this text. */
const WITHOUT_REPLY = `(answer like '%"resolve_only":true%' or answer = '${CANCELLED}')`;

/** SQL: the notifications of a tab. */
export const TAB_CONDITIONS: Readonly<Record<StateTab, string>> = {
  open: `status = 'requested'`,
  answered: `status = 'answered' and not ${WITHOUT_REPLY}`,
  resolved: `status = 'answered' and ${WITHOUT_REPLY}`,
  all: 'true',
};

export function outcomeOf({ status, answer }: { status: Status; answer: string | null }): Outcome | null {
  if (status === 'requested' || answer === null) return null;
  return answer.includes('"resolve_only":true') || answer === CANCELLED ? 'resolved' : 'answered';
}

export const tabOf = (row: { status: Status; answer: string | null }): Outcome | 'open' =>
  outcomeOf(row) ?? 'open';

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
