import { type Channel, type ChannelParts, isPhone, NO_PHONE_NUMBER } from '../channel.ts';
import { addDeliveredMessage, lastMessagesFrom } from './messages.ts';

/** A customer's phone inside Deskbell. It uses no network: a message is delivered as soon as it is stored. */
export function openSimulator({ database, now }: ChannelParts): Omit<Channel, 'type'> {
  return {
    id: 'simulator',
    plan: async () => ({ go: 'text' }),
    async send(message) {
      if (!isPhone(message.recipient)) return NO_PHONE_NUMBER;
      await addDeliveredMessage(database, message, now());
      return { outcome: 'sent', messageId: undefined, state: 'delivered' };
    },
    check: async () => undefined,
    lastWrote: (merchantId, phones) => lastMessagesFrom(database, merchantId, phones),
  };
}
