import type { FastifyRequest } from 'fastify';
import { recordEvent } from '../audit/record.ts';
import { authorOf, merchantOf, requireMerchant, whoOf } from '../auth/guard.ts';
import { MessageOf } from '../contract/common.ts';
import { Document, DocumentWording, NewWording } from '../contract/knowledge.ts';
import { NewDocument } from '../contract/knowledgeUpkeep.ts';
import { CHANGES } from '../database/database.ts';
import {
  documentNotFound,
  invalid,
  sameAsTitle,
  storageFull,
  tooManyWordings,
  wordingNotFound,
} from '../errors.ts';
import { readId } from '../http/ids.ts';
import { type App, route } from '../http/openapi.ts';
import { checkNothing } from '../http/schemas.ts';
import { lockDocument } from './documents/lock.ts';
import { bytesOf, checkBody, checkTitle, checkWording } from './documents/texts.ts';
import { WORDINGS_MAX } from './documents/wordingRows.ts';
import { addWording, removeWording } from './documents/wordings.ts';
import { createDocument } from './documents/write.ts';
import type { KnowledgeParts } from './routes.ts';

/** A document and its other wordings, by hand. Answers and imports make others. */
export async function writeRoutes(app: App, { database, storage, now }: KnowledgeParts): Promise<void> {
  requireMerchant(app);
  checkNothing(app);
  app.post(
    '/',
    {
      prefixTrailingSlash: 'slash',
      ...route('knowledge', 'Create a document', {
        operationId: 'createDocument',
        scopes: ['knowledge:write'],
        responseHeaders: ['ETag'],
        description: 'Writes a new document. Another one may have the same title.',
        errors: [invalid('title', 'title must not be blank'), storageFull()],
        body: NewDocument,
        response: { 200: Document },
      }),
    },
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const { title, body, notification_id } = (request.body ?? {}) as Record<string, unknown>;
      const content = { title: checkTitle(title), body: checkBody(body) };
      const notificationId = readNotificationId(notification_id);
      const document = await database.transaction(async (tx) => {
        await storage.reserve(tx, merchantId, bytesOf(content));
        const origin = { what: 'edit', author: authorOf(request), notificationId, at: now() } as const;
        return createDocument(tx, merchantId, content, origin);
      });
      database.signal(CHANGES);
      reply.header('etag', `"${document.id}-${document.version}"`);
      return document;
    },
  );

  app.post(
    '/:document_id/wordings',
    route('knowledge', 'Add a wording', {
      operationId: 'addWording',
      scopes: ['knowledge:write'],
      description:
        'Adds another wording of the title: the document is found by it, too. A wording that says the same is not added ' +
        'again, but returned. The document keeps its version.',
      errors: [
        documentNotFound(),
        invalid('text', 'text must not be blank'),
        sameAsTitle(),
        tooManyWordings(WORDINGS_MAX),
        storageFull(),
      ],
      body: NewWording,
      response: { 200: DocumentWording },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const { documentId } = idsOf(request);
      const wording = await database.transaction(async (tx) => {
        const document = await lockDocument(tx, merchantId, documentId);
        if (!document) throw documentNotFound();
        const text = checkWording((request.body as { text?: unknown } | null | undefined)?.text);
        return addWording(tx, merchantId, document, text, {
          author: authorOf(request),
          at: now(),
          reserve: (bytes) => storage.reserve(tx, merchantId, bytes),
        });
      });
      database.signal(CHANGES);
      return wording;
    },
  );

  app.delete(
    '/:document_id/wordings/:wording_id',
    route('knowledge', 'Remove a wording', {
      operationId: 'removeWording',
      scopes: ['knowledge:write'],
      description: 'Removes one of the other wordings of a document. The document keeps its version.',
      errors: [documentNotFound(), wordingNotFound()],
      response: { 200: MessageOf('Wording removed.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const { documentId, wordingId } = idsOf(request);
      if (documentId === undefined) throw documentNotFound();
      await database.transaction(async (tx) => {
        const at = now();
        const missing = await removeWording(tx, merchantId, {
          documentId,
          id: wordingId ?? 0,
          author: authorOf(request),
          at,
        });
        if (missing === 'document') throw documentNotFound();
        if (missing === 'wording') throw wordingNotFound();
        const event = { what: 'wording.removed', merchantId, who: whoOf(request), at } as const;
        await recordEvent(tx, { ...event, about: { document_id: documentId } });
      });
      database.signal(CHANGES);
      return { message: 'Wording removed.' };
    },
  );
}

/** It need not exist any more. */
function readNotificationId(given: unknown): number | null {
  if (given == null) return null;
  if (!Number.isSafeInteger(given) || (given as number) < 1) {
    throw invalid('notification_id', 'notification_id must be the id of a notification');
  }
  return given as number;
}

/** A text that is not an id gets the same 404 as an unknown id. */
function idsOf(request: FastifyRequest): { documentId: number | undefined; wordingId: number | undefined } {
  const { document_id = '', wording_id = '' } = request.params as Record<string, string>;
  return { documentId: readId(document_id), wordingId: readId(wording_id) };
}
