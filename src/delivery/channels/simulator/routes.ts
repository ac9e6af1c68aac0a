import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { merchantOf, requireMerchant } from '../../../auth/guard.ts';
import { MessageOf } from '../../../contract/common.ts';
import { SimulatorMessages, SimulatorText } from '../../../contract/delivery.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import { CHANGES } from '../../../database/database.ts';
import { storableText } from '../../../database/text.ts';
import { notFound, required } from '../../../errors.ts';
import { idIn } from '../../../http/ids.ts';
import { type App, route } from '../../../http/openapi.ts';
import { checkBodiesOnly } from '../../../http/schemas.ts';
import { phoneOrText } from '../../phone.ts';
import { advance, findIdsByKeys } from '../../queue/statuses.ts';
import type { InboundRouteParts } from '../channel.ts';
import { addCustomerMessage, listMessages, markMessagesRead, type PhoneMessage } from './messages.ts';

/** Of one transaction. A phone may have thousands of unread messages. */
const READ_BATCH = 100;

/** The customer's phone, for merchants whose channel is the simulator. For other merchants it does not exist. */
export async function simulatorRoutes(app: App, parts: InboundRouteParts): Promise<void> {
  const { database, channels, now, customerPhoneOf, customerMessages, onCustomerMessage } = parts;

  async function phoneOfConversation(request: FastifyRequest) {
    const merchantId = merchantOf(request);
    const conversationId = idIn(request, 'conversation_id', notFound);
    const channel = await channels.of(merchantId);
    if (channel.type.name !== 'simulator') throw notFound();
    const phone = await customerPhoneOf(database, merchantId, conversationId);
    if (phone === undefined) throw notFound();
    return { merchantId, conversationId, phone: phoneOrText(phone) };
  }

  requireMerchant(app);
  checkBodiesOnly(app);

  app.get(
    '/:conversation_id',
    {
      // A GET marks the messages as read. A HEAD request must not.
      exposeHeadRoute: false,
      ...route('simulator', 'Show the customer’s phone', {
        operationId: 'listSimulatorMessages',
        description:
          'The messages on the phone. This request marks them as read: their deliveries become `read`.',
        errors: [notFound()],

        params: Type.Object({ conversation_id: Type.Integer({ minimum: 1 }) }),
        response: { 200: SimulatorMessages },
      }),
    },
    async (request) => {
      const { merchantId, phone } = await phoneOfConversation(request);
      const messages = await listMessages(database, merchantId, phone);
      const unread = messages.filter((row) => row.from_customer === 0 && row.read_at === null);
      if (unread.length > 0) await markRead(merchantId, phone, unread);
      return messages.map(({ id, from_customer, text, at }) => ({
        id,
        from_customer: from_customer === 1,
        text,
        at,
        read: true,
      }));
    },
  );

  app.post(
    '/:conversation_id',
    route('simulator', 'Write as the customer', {
      operationId: 'writeAsCustomer',
      description:
        'Stores a message from the customer. The demo’s assistant answers it from the knowledge base, or ' +
        'raises a notification and tells the customer that it asks a colleague.',
      errors: [notFound(), required('text')],
      body: SimulatorText,
      response: { 200: MessageOf('Message received.') },
    }),
    async (request) => {
      const { merchantId, conversationId, phone } = await phoneOfConversation(request);
      const { text } = request.body;
      await database.transaction(async (tx) => {
        const at = now();
        const messageId = `simulator-${await addCustomerMessage(tx, merchantId, { phone, text, at })}`;
        const message = { conversationId, messageId, text: storableText(text), writtenAt: at, at };
        await customerMessages.receive(tx, merchantId, message);
      });
      database.signal(CHANGES);
      await onCustomerMessage(merchantId, { conversationId, phone, text });
      return { message: 'Message received.' };
    },
  );

  async function markRead(
    merchantId: MerchantId,
    phone: string,
    unread: readonly PhoneMessage[],
  ): Promise<void> {
    for (let n = 0; n < unread.length; n += READ_BATCH) {
      const batch = unread.slice(n, n + READ_BATCH);
      await database.transaction(async (tx) => {
        const keys = batch.flatMap(({ delivery_key: key }) => (key === null ? [] : [key]));
        const ids = await findIdsByKeys(tx, merchantId, keys);
        await advance(tx, merchantId, ids, { state: 'read', at: now() });
        await markMessagesRead(tx, merchantId, { phone, upToId: batch.at(-1)!.id, at: now() });
      });
    }
    database.signal(CHANGES);
  }
}
