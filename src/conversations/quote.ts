import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { replyToInvalid } from '../errors.ts';
import { findMessages } from './messages.ts';

/** A message of the customer that another one quotes. */
export interface Quote {
  id: number;
  /** In the channel, if it is known. */
  messageId: string | null;
}

/** The message with this id in the timeline. Throws if the customer has not written it in this conversation. */
export async function findQuoted(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  given: string,
): Promise<Quote> {
  const [, id] = /^m(\d{1,15})$/.exec(given) ?? [];
  const [message] =
    id === undefined ? [] : await findMessages(queries, merchantId, conversationId, [Number(id)]);
  if (message?.sender !== 'customer') throw replyToInvalid();
  return { id: message.id, messageId: message.message_id };
}
