import type { FastifyRequest } from 'fastify';
import { authorOf, merchantOf, requireMerchant, whoOf } from '../auth/guard.ts';
import { MessageOf } from '../contract/common.ts';
import { Conversation } from '../contract/conversations.ts';
import type { MerchantId } from '../contract/ids.ts';
import { WriteHeaders } from '../contract/notifications.ts';
import { MessageQueued, SendBody } from '../contract/timeline.ts';
import { CHANGES, type Transaction } from '../database/database.ts';
import { takeBack } from '../delivery/queue/control/cancel.ts';
import {
  conversationNotFound,
  customerChanged,
  customerUnreachable,
  deliveryNotFound,
  replyToInvalid,
  required,
  sentAlready,
  windowClosed,
} from '../errors.ts';
import { idIn } from '../http/ids.ts';
import { type App, route } from '../http/openapi.ts';
import { checkBodiesOnly } from '../http/schemas.ts';
import { type ConversationParts, conversationIdOf, WRITE_ERRORS } from './routes.ts';
import { reachOf, type SendParts, sendMessage } from './send.ts';
import { findConversation } from './store.ts';
import { handBack, takeOver } from './takeover.ts';
import { wiresOf } from './wire.ts';

type Parts = SendParts & Pick<ConversationParts, 'writeOnce' | 'windowsOf' | 'now'>;

const SCOPES = ['answer'] as const;
const TAKEN_BACK = 'The message is taken back. It was not sent.';

/** A person speaks to the customer: writes, takes a message back, takes the conversation over. */
export async function talkRoutes(app: App, parts: Parts): Promise<void> {
  const { database, outbox, windowsOf, writeOnce, now } = parts;

  const announce = () => {
    outbox.announce();
    database.signal(CHANGES);
  };

  async function change(
    request: FastifyRequest,
    perform: (tx: Transaction, merchantId: MerchantId, id: number) => Promise<boolean>,
  ) {
    const merchantId = merchantOf(request);
    const id = conversationIdOf(request);
    const { row, changed } = await database.transaction(async (tx) => {
      const changed = await perform(tx, merchantId, id);
      return { row: await findConversation(tx, merchantId, id), changed };
    });
    if (!row) throw conversationNotFound();
    if (changed) database.signal(CHANGES);
    const [conversation] = await wiresOf(windowsOf, merchantId, [row]);
    return conversation!;
  }

  requireMerchant(app);
  checkBodiesOnly(app);

  app.post(
    '/:conversation_id/send',
    route('conversations', 'Write to the customer', {
      operationId: 'sendMessage',
      scopes: SCOPES,
      responseHeaders: ['Idempotency-Replayed'],
      description:
        'Sends a message to the customer of this conversation, without a question. If the reply window is closed, it is ' +
        'sent in the merchant’s template, or refused if there is none. An `Idempotency-Key` makes a repeated ' +
        'request safe for 24 hours.',
      errors: [
        conversationNotFound(),
        required('text'),
        replyToInvalid(),
        windowClosed('2026-01-14T09:30:00.000Z'),
        customerUnreachable(),
        customerChanged(),
        ...WRITE_ERRORS,
      ],
      headers: WriteHeaders,
      body: SendBody,
      response: { 200: MessageQueued },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const conversationId = conversationIdOf(request);
      const reach = await reachOf(parts, merchantId, conversationId);
      const message = { conversationId, body: request.body, reach, author: authorOf(request), at: now() };
      const { body } = await writeOnce(request, reply, async (queries) => {
        const { deliveryId, undoUntil } = await sendMessage(queries, parts, merchantId, message);
        return {
          body: {
            message: 'The message is queued.',
            delivery_id: deliveryId,
            undo_until: undoUntil?.toISOString() ?? null,
          },
        };
      });
      announce();
      return body;
    },
  );

  app.delete(
    '/:conversation_id/sent/:delivery_id',
    route('conversations', 'Take a message back', {
      operationId: 'takeMessageBack',
      scopes: SCOPES,
      description:
        'Takes back a message that was written with `send` and has not been sent yet, usually within its `undo_seconds`.',
      errors: [conversationNotFound(), deliveryNotFound(), sentAlready()],
      response: { 200: MessageOf(TAKEN_BACK) },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const conversationId = conversationIdOf(request);
      const id = idIn(request, 'delivery_id', deliveryNotFound);
      const result = await database.transaction((tx) =>
        takeBack(tx, merchantId, { id, conversationId }, whoOf(request), now()),
      );
      if (result === 'not_found') throw deliveryNotFound();
      if (result === 'too_late') throw sentAlready();
      announce();
      return { message: TAKEN_BACK };
    },
  );

  app.put(
    '/:conversation_id/takeover',
    route('conversations', 'Take the conversation over', {
      operationId: 'takeConversationOver',
      scopes: SCOPES,
      description:
        'A person speaks to the customer from now on. The assistant hears of it, and must be silent until the ' +
        'conversation is handed back. If somebody else has taken it over, nothing changes.',
      errors: [conversationNotFound()],
      response: { 200: Conversation },
    }),
    (request) =>
      change(request, (tx, merchantId, id) =>
        takeOver(tx, merchantId, id, { author: authorOf(request), at: now() }),
      ),
  );

  app.delete(
    '/:conversation_id/takeover',
    route('conversations', 'Hand the conversation back', {
      operationId: 'handConversationBack',
      scopes: SCOPES,
      description: 'The assistant speaks to the customer again.',
      errors: [conversationNotFound()],
      response: { 200: Conversation },
    }),
    (request) => change(request, (tx, merchantId, id) => handBack(tx, merchantId, id, now())),
  );
}
