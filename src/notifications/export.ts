import { authorNameOf } from '../auth/columns.ts';

const author = authorNameOf('n.merchant_id', 'n.answered_by', 'n.answered_by_key');

/** For the export: the merchant is $1, the last id $2, the limit $3. */
export const EXPORTED_NOTIFICATIONS = `select n.id, n.conversation_id, n.notification_type, n.status, n.context, n.answer,
    ${author} as answered_by, n.created_at, n.updated_at
  from notifications n where n.merchant_id = $1 and n.id > $2 order by n.id limit $3`;
