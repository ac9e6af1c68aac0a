import { authorNameOf } from '../auth/columns.ts';

const author = authorNameOf('$1', 'n.answered_by', 'n.answered_by_key');

/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_NOTIFICATIONS = `select n.id, n.conversation_id, n.notification_type, n.status, n.outcome, n.context, n.answer,
    ${author} as answered_by, n.assigned_to, n.created_at, n.updated_at
  from notifications n where n.merchant_id = $1 and n.id > $2 order by n.id limit $3`;

/** What an assistant asked with its own names, and what it got. The id is that of its notification. */
export const EXPORTED_ASKS = `select id, conversation_id, reference, metadata, deliver, status, expires_at, answer, answered_by,
    ended_at, created_at
  from asks where merchant_id = $1 and id > $2 order by id limit $3`;

export const EXPORTED_NOTES = `select id, notification_id, user_id, text, mentions, created_at
  from notification_notes where merchant_id = $1 and id > $2 order by id limit $3`;

/** Of one conversation, which is $4. */
export const NOTIFICATIONS_OF_CONVERSATION = EXPORTED_NOTIFICATIONS.replace(
  'and n.id > $2',
  'and n.id > $2 and n.conversation_id = $4',
);

export const ASKS_OF_CONVERSATION = EXPORTED_ASKS.replace(
  'and id > $2',
  'and id > $2 and conversation_id = $4',
);

export const NOTES_OF_CONVERSATION = `select t.id, t.notification_id, t.user_id, t.text, t.mentions, t.created_at
  from notifications n join notification_notes t on t.merchant_id = n.merchant_id and t.notification_id = n.id
  where n.merchant_id = $1 and n.conversation_id = $4 and t.id > $2 order by t.id limit $3`;

/** Of one author, who is $4. */
export const NOTES_OF_USER = EXPORTED_NOTES.replace('and id > $2', 'and id > $2 and user_id = $4');

/** What the user answered, or is responsible for. */
export const ANSWERS_OF_USER = `select id, conversation_id, status, outcome, updated_at,
    case when answered_by = $4 then answer end as answer
  from notifications where merchant_id = $1 and id > $2 and (answered_by = $4 or assigned_to = $4)
  order by id limit $3`;

/** Whether a notification, which may be gone, is of a conversation. */
export const isInConversation = (merchantId: string, notificationId: string, conversationId: string) =>
  `(select n.conversation_id from notifications n
    where n.merchant_id = ${merchantId} and n.id = ${notificationId}) = ${conversationId}`;
