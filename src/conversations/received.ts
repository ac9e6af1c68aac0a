import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { logEvents } from '../events/record.ts';
import { insertMessages } from './messages.ts';
import { findConversation } from './store.ts';

/** What customers write to a channel. The channels call these, without importing this feature. */

/** The newest conversation of each merchant with this customer. */
async function conversationsWith(
  queries: Queries,
  phone: string,
): Promise<{ merchantId: MerchantId; conversationId: number }[]> {
  const rows = await queries.all<{ merchant_id: MerchantId; id: number }>(
    'select merchant_id, max(id) as id from conversations where customer_phone = $1 group by merchant_id',
    [phone],
  );
  return rows.map(({ merchant_id, id }) => ({ merchantId: merchant_id, conversationId: id }));
}

interface ReceivedMessage {
  conversationId: number;
  messageId: string;
  text: string;
  writtenAt: Date;
  at: Date;
}

/** Counts towards the merchant's storage, but is never refused: the customer has written it. */
async function receive(
  tx: Transaction,
  merchantId: MerchantId,
  { conversationId, messageId, text, writtenAt, at }: ReceivedMessage,
): Promise<void> {
  const message = { from: 'customer', text, at: writtenAt, messageId } as const;
  const stored = await insertMessages(tx, merchantId, conversationId, [message], at);
  if (stored === 0) return;
  const conversation = await findConversation(tx, merchantId, conversationId);
  await logEvents(tx, merchantId, [
    {
      type: 'message.received',
      at,
      notificationId: null,
      data: {
        conversation_id: conversationId,
        conversation_reference: conversation?.reference ?? null,
        message_id: messageId,
      },
      content: { text },
    },
  ]);
}

export const customerMessages = { conversationsWith, receive };
