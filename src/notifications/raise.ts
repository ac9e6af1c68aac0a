import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import { existingConversation } from '../conversations/columns.ts';
import type { Step } from '../database/chain.ts';
import type { Queries } from '../database/database.ts';
import { answerSchemaId, KINDS } from './kinds.ts';

export interface NewNotification {
  merchantId: MerchantId;
  type: NotificationType;
  conversationId: number;
  contextText: string;
  at: Date;
}

/** Gives the new id, or nothing where the merchant has no such conversation. */
export async function insertNotification(
  queries: Queries,
  { merchantId, type, conversationId, contextText, at }: NewNotification,
): Promise<number | undefined> {
  const insert: Step = {
    name: 'raised',
    sql: `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
          requested_fields, answered_fields, answer_schema_id)
        select merchant_id, id, $3, $4, $4, $5, $6, $7, $8 from ${existingConversation('$1', '$2')} conversation
        returning id`,
    params: [
      merchantId,
      conversationId,
      type,
      at.toISOString(),
      contextText,
      JSON.stringify(KINDS[type].requestedFields),
      JSON.stringify(KINDS[type].answeredFields),
      answerSchemaId(KINDS[type]),
    ],
  };
  return (await queries.chain<{ id: number }>([insert], merchantId))?.id;
}
