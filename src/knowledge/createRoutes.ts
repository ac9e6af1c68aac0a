import { authorOf, merchantOf, requireMerchant } from '../auth/guard.ts';
import { Document } from '../contract/knowledge.ts';
import { NewDocument } from '../contract/knowledgeUpkeep.ts';
import { CHANGES } from '../database/database.ts';
import { invalid, storageFull } from '../errors.ts';
import { type App, route } from '../http/openapi.ts';
import { checkNothing } from '../http/schemas.ts';
import { bytesOf, checkBody, checkTitle } from './documents/texts.ts';
import { createDocument } from './documents/write.ts';
import type { KnowledgeParts } from './routes.ts';

/** A document by hand. Answers and imports make others. */
export async function createRoutes(app: App, { database, storage, now }: KnowledgeParts): Promise<void> {
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
}

/** It need not exist any more. */
function readNotificationId(given: unknown): number | null {
  if (given == null) return null;
  if (!Number.isSafeInteger(given) || (given as number) < 1) {
    throw invalid('notification_id', 'notification_id must be the id of a notification');
  }
  return given as number;
}
