import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { logEvents } from '../events/record.ts';
import { insertMessages } from './messages.ts';
import { findConversation } from './store.ts';

/** What customers write to a channel. The channels call these, without importing this feature. */

/**
 * It steps from merchant to merchant through the index: a merchant with many conversations of the same number must not
 * delay the others.
 */
const STEPPING = `with recursive owners (merchant_id) as (
    select min(merchant_id) from conversations where customer_phone = $1
    union all
    select (select min(c.merchant_id) from conversations c
        where c.customer_phone = $1 and c.merchant_id > owners.merchant_id)
      from owners where owners.merchant_id is not null)
  select merchant_id, (select max(c.id) from conversations c
      where c.customer_phone = $1 and c.merchant_id = owners.merchant_id) as id
    from owners where merchant_id is not null`;

/** A cluster cannot step: each node reads those of its merchants. */
const GROUPED =
  'select merchant_id, max(id) as id from conversations where customer_phone = $1 group by merchant_id';

/** The newest conversation of each merchant with this customer. */
async function conversationsWith(
  queries: Queries,
  phone: string,
): Promise<{ merchantId: MerchantId; conversationId: number }[]> {
  const rows = await queries.all<{ merchant_id: MerchantId; id: number }>(
    queries.isSpread ? GROUPED : STEPPING,
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
