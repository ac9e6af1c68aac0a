import type { MerchantId } from '../../src/contract/ids.ts';
import { eventOf, numberEvents, readEvents } from '../../src/events/log.ts';
import type { Deskbell } from './server.ts';

export const threadOf = (id: number) => `/api/v1/conversation/${id}/messages`;

export interface ThreadMessage {
  id: string;
  from: string;
  text: string;
  at: string;
  message_id: string | null;
  notification_id: number | null;
  delivery: { id: number; state: string } | null;
}

/** The data of the events of a conversation, as a caller sees it that may read texts. */
export async function receivedIn({ database }: Deskbell, merchantId: number, conversationId: number) {
  const owner = merchantId as MerchantId;
  await numberEvents(database, owner);
  return (await readEvents(database, owner, { after: 0, limit: 1000 }))
    .map((event) => eventOf(event, true))
    .filter(({ type, data }) => type === 'message.received' && data.conversation_id === conversationId)
    .map(({ data: { message_id, text } }) => ({ message_id, text }));
}

export const textsOf = (messages: readonly ThreadMessage[]) => messages.map(({ text }) => text);
