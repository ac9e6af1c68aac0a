import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { merchantOf, requireMerchant } from '../../../auth/guard.ts';
import { Message } from '../../../contract/common.ts';
import { SimulatorMessages, SimulatorText } from '../../../contract/delivery.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import { CHANGES, type Database } from '../../../database/database.ts';
import { storableText } from '../../../database/text.ts';
import { notFound, required, TOKEN_ERRORS } from '../../../errors.ts';
import { readId } from '../../../http/ids.ts';
import { describeRoute, parameterSchema, skipSchemaValidation } from '../../../http/openapi.ts';
import { phoneOrText } from '../../phone.ts';
import { advance, findIdsByKeys } from '../../queue/statuses.ts';
import type { Channels } from '../merchantChannels.ts';

interface SimulatorParts {
  database: Database;
  channels: Channels;
  now: () => Date;
  /** Whoever answers the customer at once. */
  onCustomerMessage: (
    merchantId: MerchantId,
    message: { conversationId: number; phone: string; text: string },
  ) => Promise<void>;
}

interface MessageRow {
  id: number;
  from_customer: number;
  text: string;
  at: string;
  read_at: string | null;
  delivery_key: string | null;
}

/** The customer's telephone, for merchants whose channel is the simulator; for others it does not exist. */
export function simulatorRoutes(parts: SimulatorParts): FastifyPluginAsyncTypebox {
  const { database, channels, now, onCustomerMessage } = parts;

  async function phoneOfConversation(
    request: FastifyRequest,
  ): Promise<{ merchantId: MerchantId; conversationId: number; phone: string }> {
    const merchantId = merchantOf(request);
    const id = readId((request.params as { conversation_id: string }).conversation_id);
    const channel = await channels.of(merchantId);
    if (channel.type.name !== 'simulator' || id === undefined) throw notFound();
    const row = await database.one<{ customer_phone: string }>(
      'select customer_phone from conversations where merchant_id = $1 and id = $2',
      [merchantId, id],
    );
    if (!row) throw notFound();
    return { merchantId, conversationId: id, phone: phoneOrText(row.customer_phone) };
  }

  return async (app) => {
    requireMerchant(app);
    const shared = { params: parameterSchema('conversation_id') };

    app.get(
      '/:conversation_id',
      {
        ...skipSchemaValidation,
        // Looking is reading: nobody looks by asking for the headers.
        exposeHeadRoute: false,
        schema: {
          ...describeRoute('simulator', 'Look at the customer’s telephone', {
            description: 'What it shows. Looking at it reads the messages: their deliveries become `read`.',
            errors: [...TOKEN_ERRORS, notFound()],
          }),
          ...shared,
          response: { 200: SimulatorMessages },
        },
      },
      async (request) => {
        const { merchantId, phone } = await phoneOfConversation(request);
        const rows = await database.all<MessageRow>(
          `select id, from_customer, content as text, at, read_at, delivery_key from simulator_messages
            where merchant_id = $1 and phone = $2 order by id`,
          [merchantId, phone],
        );
        const unread = rows.filter((row) => row.from_customer === 0 && row.read_at === null);
        if (unread.length > 0) await markRead(merchantId, phone, unread);
        return rows.map(({ id, from_customer, text, at }) => ({
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
      {
        schema: {
          ...describeRoute('simulator', 'Write as the customer', {
            description:
              'The customer’s message, as if it came from a telephone. The demo’s assistant answers it from the ' +
              'knowledge base, or raises a notification and says that it asks a colleague.',
            errors: [...TOKEN_ERRORS, notFound(), required('text')],
          }),
          body: SimulatorText,
          response: { 200: Message },
        },
      },
      async (request) => {
        const { merchantId, conversationId, phone } = await phoneOfConversation(request);
        const { text } = request.body;
        await database.run(
          `insert into simulator_messages (merchant_id, phone, from_customer, content, at) values ($1, $2, 1, $3, $4)`,
          [merchantId, phone, storableText(text), now().toISOString()],
        );
        await onCustomerMessage(merchantId, { conversationId, phone, text });
        return { message: 'Message received.' };
      },
    );
  };

  async function markRead(
    merchantId: MerchantId,
    phone: string,
    unread: readonly MessageRow[],
  ): Promise<void> {
    await database.transaction(async (tx) => {
      await tx.run(
        `update simulator_messages set read_at = $3
          where merchant_id = $1 and phone = $2 and from_customer = 0 and read_at is null and id <= $4`,
        [merchantId, phone, now().toISOString(), unread.at(-1)!.id],
      );
      const keys = unread.flatMap(({ delivery_key: key }) => (key === null ? [] : [key]));
      const ids = await findIdsByKeys(tx, merchantId, keys);
      await advance(tx, merchantId, ids, { state: 'read', at: now() });
    });
    database.signal(CHANGES);
  }
}
