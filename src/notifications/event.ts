import type { NewEvent } from '../events/record.ts';

type What = 'requested' | 'answered' | 'resolved' | 'reopened' | 'cancelled' | 'expired' | 'deleted';

/** What the event of a notification tells of it. */
export interface Told {
  id: number;
  conversation_id: number;
  notification_type: string;
}

/** The event of a change to a notification. */
export const notificationEvent = (
  { id, conversation_id, notification_type }: Told,
  what: What,
  at: Date,
  more: Pick<Partial<NewEvent>, 'data' | 'content'> = {},
): NewEvent => ({
  type: `notification.${what}`,
  at,
  notificationId: id,
  data: { notification_id: id, conversation_id, notification_type, status: what, ...more.data },
  ...(more.content && { content: more.content }),
});
