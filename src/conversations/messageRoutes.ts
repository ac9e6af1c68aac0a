import { callerOf, merchantOf, requireMerchant } from '../auth/guard.ts';
import {
  MESSAGES_AT_ONCE_MAX,
  MESSAGES_PAGE_MAX,
  MessagesBody,
  MessagesStored,
  Thread,
  ThreadQuery,
} from '../contract/conversations.ts';
import { WriteHeaders } from '../contract/notifications.ts';
import { CHANGES, inTransaction } from '../database/database.ts';
import { conversationNotFound, invalid, required } from '../errors.ts';
import { type App, route } from '../http/openapi.ts';
import { collectPage, cursorInvalid, cursorOf, readCursor, readLimit } from '../http/paging.ts';
import { checkNothing } from '../http/schemas.ts';
import {
  bytesOf,
  type Entry,
  insertMessages,
  lockConversation,
  type Position,
  readThread,
} from './messages.ts';
import { type ConversationParts, conversationIdOf, WRITE_ERRORS } from './routes.ts';
import { countInvalid, readMessages } from './rules.ts';
import { findConversation } from './store.ts';

const PAGE_DEFAULT = 50;
const CURSOR = /^thread (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([md]) (\d{1,15})$/;
const CURSOR_SOURCE = 'the next_cursor of a page';

type Parts = Pick<ConversationParts, 'database' | 'storage' | 'writeOnce' | 'now'>;

export async function messageRoutes(app: App, { database, storage, writeOnce, now }: Parts): Promise<void> {
  requireMerchant(app);
  checkNothing(app);

  app.post(
    '/:conversation_id/messages',
    route('conversations', 'Record messages', {
      operationId: 'recordMessages',
      scopes: ['ask'],
      responseHeaders: ['Idempotency-Replayed'],
      description:
        `What customer and assistant said: one message, or up to ${MESSAGES_AT_ONCE_MAX}, all or nothing. A ` +
        '`message_id` that this conversation has is not stored again. Nothing is sent to the customer.',
      errors: [
        conversationNotFound(),
        countInvalid(),
        required('messages[0].text'),
        invalid('at', 'at must not be in the future'),
        ...WRITE_ERRORS,
      ],
      headers: WriteHeaders,
      body: MessagesBody,
      response: { 200: MessagesStored },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const id = conversationIdOf(request);
      const { body } = await writeOnce(request, reply, (queries) =>
        inTransaction(queries, async (tx) => {
          await lockConversation(tx, merchantId, id);
          const messages = readMessages(request.body, now());
          await storage.reserve(tx, merchantId, bytesOf(messages));
          const stored = await insertMessages(tx, merchantId, id, messages, now());
          return { body: { stored, repeated: messages.length - stored } };
        }),
      );
      if (body.stored > 0) database.signal(CHANGES);
      return body;
    },
  );

  app.get(
    '/:conversation_id/messages',
    route('conversations', 'List messages', {
      operationId: 'listMessages',
      scopes: ['ask', 'notifications:read'],
      description:
        'The thread, oldest first: the messages that were recorded, those that the customer wrote to the channel, ' +
        `and what Deskbell sent with its state. ${PAGE_DEFAULT} a page, or fewer if they are long.`,
      errors: [conversationNotFound(), cursorInvalid(CURSOR_SOURCE)],
      querystring: ThreadQuery,
      response: { 200: Thread },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = conversationIdOf(request);
      const query = request.query as Record<string, unknown>;
      const limit = readLimit(query.limit, MESSAGES_PAGE_MAX) ?? PAGE_DEFAULT;
      const from = readPosition(query.cursor);
      if (!(await findConversation(database, merchantId, id))) throw conversationNotFound();
      // An assistant might pass on what is then taken back.
      const settledAt = callerOf(request).kind === 'key' ? now() : undefined;
      const { rows, hasMore } = await collectPage<Entry>(
        limit,
        ({ wire }) => wire.text.length,
        (last, atMost) =>
          readThread(database, merchantId, id, { after: last ?? from, limit: atMost, settledAt }),
      );
      const last = rows.at(-1);
      return {
        messages: rows.map(({ wire }) => wire),
        next_cursor: hasMore && last ? cursorOf(`thread ${last.at} ${last.kind} ${last.id}`) : null,
      };
    },
  );
}

function readPosition(cursor: unknown): Position | undefined {
  const parts = readCursor(cursor, CURSOR, CURSOR_SOURCE);
  if (!parts) return undefined;
  const [at, kind, id] = parts as [string, Position['kind'], string];
  return { at, kind, id: Number(id) };
}
