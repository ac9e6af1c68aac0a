import type { FastifyReply, FastifyRequest } from 'fastify';
import { recordEvent } from '../audit/record.ts';
import { authorOf, merchantOf, requireMerchant, whoOf } from '../auth/guard.ts';
import { MessageOf } from '../contract/common.ts';
import { FindQuery, FOUND_LIMIT, FoundCandidates, QUESTION_LENGTH_MAX } from '../contract/find.ts';
import {
  ChangeHeaders,
  Document,
  DocumentChange,
  DocumentList,
  DocumentQuery,
  DocumentWithVersions,
} from '../contract/knowledge.ts';
import { CHANGES, type Database, type Queries } from '../database/database.ts';
import {
  documentChanged,
  documentNotFound,
  invalid,
  nothingToRevert,
  required,
  storageFull,
} from '../errors.ts';
import { idIn } from '../http/ids.ts';
import { type App, route } from '../http/openapi.ts';
import { limitInvalid, nextLink, readLimit } from '../http/paging.ts';
import { checkNothing } from '../http/schemas.ts';
import type { Storage } from '../merchants/storage.ts';
import type { Confidence } from './confidence/confidence.ts';
import { findDocument } from './documents/read.ts';
import { bytesOf, type Content, readChange } from './documents/texts.ts';
import { findEarlierContent, listVersions, type Origin } from './documents/versions.ts';
import { listWordings } from './documents/wordingRows.ts';
import { changeDocument, deleteDocument } from './documents/write.ts';
import { findAnswers } from './find.ts';
import { readDocumentQuery, readPage } from './list.ts';
import { type Ranking, WEAK_SCORE_MIN } from './ranking/rank.ts';

export interface KnowledgeParts {
  database: Database;
  ranking: Ranking;
  confidence: Confidence;
  storage: Storage;
  now: () => Date;
}

export async function knowledgeRoutes(app: App, parts: KnowledgeParts): Promise<void> {
  const { database, storage, now } = parts;
  /** Writes a new version of a document, with the content that is made from the one of now. */
  async function writeVersion(
    request: FastifyRequest,
    reply: FastifyReply,
    what: Origin['what'],
    contentOf: (tx: Queries, current: Document) => Content | Promise<Content>,
  ) {
    const merchantId = merchantOf(request);
    const id = idOf(request);
    const origin = { what, author: authorOf(request), notificationId: null, at: now() };
    const document = await database.transaction((tx) =>
      changeDocument(
        tx,
        merchantId,
        id,
        async (current) => {
          const content = await contentOf(tx, current);
          await storage.reserve(tx, merchantId, bytesOf(content));
          return content;
        },
        origin,
      ),
    );
    if (!document) throw documentNotFound();
    database.signal(CHANGES);
    return tagged(reply, document);
  }

  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/',
    {
      prefixTrailingSlash: 'slash',
      ...route('knowledge', 'List or search documents', {
        operationId: 'listDocuments',
        scopes: ['knowledge:read'],
        responseHeaders: ['Link'],
        description:
          'The merchant’s documents in pages, last updated first; a page of long documents has fewer. With `q`, the matching documents, best ' +
          'first: those with all words or, if there are none, those with the rarest words.',
        errors: [invalid('limit', 'limit must be an integer from 1 to 1000')],
        querystring: DocumentQuery,
        response: { 200: DocumentList },
      }),
    },
    async (request, reply) => {
      const query = readDocumentQuery(request.query as Record<string, unknown>);
      const { documents, nextCursor } = await readPage(parts, merchantOf(request), query);
      if (nextCursor) reply.header('link', nextLink(request, nextCursor));
      return documents;
    },
  );

  app.get(
    '/find',
    route('knowledge', 'Find answers to a question', {
      operationId: 'findAnswers',
      scopes: ['knowledge:read'],
      description:
        'The documents that may answer a question or a support reason, best first. Let your model judge them: only ' +
        '`confident` ones are safe to give without a person.',
      errors: [required('q'), questionTooLong(), limitInvalid(FOUND_LIMIT.max)],
      querystring: FindQuery,
      response: { 200: FoundCandidates },
    }),
    async (request) => {
      const { q, limit } = request.query as Record<string, unknown>;
      if (typeof q !== 'string' || q.trim() === '') throw required('q');
      if (q.length > QUESTION_LENGTH_MAX) throw questionTooLong();
      const max = readLimit(limit, FOUND_LIMIT.max) ?? FOUND_LIMIT.default;
      const { candidates } = await findAnswers(parts, merchantOf(request), q, {
        limit: max,
        scoreMin: WEAK_SCORE_MIN,
      });
      return { candidates };
    },
  );

  app.get(
    '/:document_id',
    route('knowledge', 'Get a document', {
      operationId: 'getDocument',
      scopes: ['knowledge:read'],
      responseHeaders: ['ETag'],
      description:
        'One document with its other wordings and its versions. The `ETag` identifies the current version.',
      errors: [documentNotFound()],
      response: { 200: DocumentWithVersions },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const document = await findDocument(database, merchantId, idOf(request));
      if (!document) throw documentNotFound();
      const [wordings, versions] = await Promise.all([
        listWordings(database, merchantId, document.id),
        listVersions(database, merchantId, document),
      ]);
      return tagged(reply, { ...document, wordings, versions });
    },
  );

  app.patch(
    '/:document_id',
    route('knowledge', 'Change a document', {
      operationId: 'changeDocument',
      scopes: ['knowledge:write'],
      responseHeaders: ['ETag'],
      description:
        'Changes title, body or both. The old content stays as a version. With `If-Match`, only if the ' +
        'document has not changed since you read it.',
      errors: [
        documentNotFound(),
        documentChanged(),
        invalid('title', 'title must not be blank'),
        storageFull(),
      ],
      headers: ChangeHeaders,
      body: DocumentChange,
      response: { 200: Document },
    }),
    (request, reply) =>
      writeVersion(request, reply, 'edit', (_tx, current) => {
        const known = request.headers['if-match'];
        if (known !== undefined && !matches(known, tagOf(current))) throw documentChanged();
        return { ...current, ...readChange(request.body) };
      }),
  );

  app.post(
    '/:document_id/revert',
    route('knowledge', 'Revert a document', {
      operationId: 'revertDocument',
      scopes: ['knowledge:write'],
      responseHeaders: ['ETag'],
      description: 'Restores the previous version as a new version. A second revert undoes the first.',
      errors: [documentNotFound(), nothingToRevert(), storageFull()],
      response: { 200: Document },
    }),
    (request, reply) =>
      writeVersion(request, reply, 'revert', async (tx, current) => {
        const earlier = await findEarlierContent(tx, merchantOf(request), current);
        if (!earlier) throw nothingToRevert();
        return earlier;
      }),
  );

  app.delete(
    '/:document_id',
    route('knowledge', 'Delete a document', {
      operationId: 'deleteDocument',
      scopes: ['knowledge:write'],
      description: 'Deletes the document with all its wordings and versions. This cannot be undone.',
      errors: [documentNotFound()],
      response: { 200: MessageOf('Document deleted.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = idOf(request);
      await database.transaction(async (tx) => {
        const at = now();
        if (!(await deleteDocument(tx, merchantId, id, { author: authorOf(request), at })))
          throw documentNotFound();
        const event = { what: 'document.deleted', merchantId, who: whoOf(request), at } as const;
        await recordEvent(tx, { ...event, about: { document_id: id } });
      });
      database.signal(CHANGES);
      return { message: 'Document deleted.' };
    },
  );
}

/** A text that is not an id gets the same 404 as an unknown id. */
const idOf = (request: FastifyRequest) => idIn(request, 'document_id', documentNotFound);

const tagOf = ({ id, version }: { id: number; version: number }) => `"${id}-${version}"`;

function tagged<T extends Document>(reply: FastifyReply, document: T): T {
  reply.header('etag', tagOf(document));
  return document;
}

/** A proxy may make a tag weak; it still identifies the version. */
const matches = (ifMatch: string, tag: string): boolean =>
  ifMatch === '*' || ifMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === tag);

const questionTooLong = () => invalid('q', `q must not have more than ${QUESTION_LENGTH_MAX} characters`);
