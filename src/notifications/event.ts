/** What a step must be `returning` of a notification whose event is written after it. */
export const EVENT_COLUMNS =
  'notifications.merchant_id, notifications.id, conversation_id, notification_type, updated_at';

type What = 'requested' | 'answered' | 'resolved' | 'reopened' | 'cancelled' | 'expired' | 'deleted';

interface More {
  /** `n` is the notification. */
  joins?: string;
  at?: string;
  /** SQL: more members of the data, as JSON text. */
  members?: string;
  /** SQL: the texts, as JSON text. */
  content?: string;
}

/** The event of each notification that a step returned: the select for `logStep`. */
export const notificationEvent = (
  step: string,
  what: What,
  { joins = '', at = 'n.updated_at', members = `''`, content = 'cast(null as text)' }: More = {},
): string =>
  `select n.merchant_id, 'notification.${what}', ${at}, n.id, concat('{"notification_id":', n.id, ',"conversation_id":',
      n.conversation_id, ',"notification_type":"', n.notification_type, '","status":"${what}"', ${members}, '}'), ${content}
    from ${step} n ${joins}`;
