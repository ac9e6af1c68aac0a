import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import {
  CHANGES_LIMIT,
  ChangesQuery,
  KnowledgeChanges,
  STALE_LIMIT,
  type StaleDocument,
  StaleDocuments,
  StaleQuery,
} from '../../contract/knowledgeUpkeep.ts';
import type { Database } from '../../database/database.ts';
import { type App, route } from '../../http/openapi.ts';
import {
  collectPage,
  cursorInvalid,
  cursorOf,
  limitInvalid,
  readCursor,
  readLimit,
} from '../../http/paging.ts';
import { checkNothing } from '../../http/schemas.ts';
import { listChanges } from './changes.ts';
import { listUnused, listWrong } from './stale.ts';

const CURSOR_SOURCE = 'the next_cursor of a page';
const TIME = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z';

/** What to look after: documents that may be out of date, and who changed what. */
export async function upkeepRoutes(app: App, parts: { database: Database; now: () => Date }): Promise<void> {
  const { database, now } = parts;
  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/changes',
    route('knowledge', 'List changes to documents', {
      operationId: 'listKnowledgeChanges',
      scopes: ['knowledge:read'],
      description:
        'Who changed which document and how, newest first. The history of a deleted document is deleted with it, ' +
        'except for who deleted it, which is kept for 90 days.',
      errors: [limitInvalid(CHANGES_LIMIT.max), cursorInvalid(CURSOR_SOURCE)],
      querystring: ChangesQuery,
      response: { 200: KnowledgeChanges },
    }),
    async (request) => {
      const query = request.query as Record<string, unknown>;
      const limit = readLimit(query.limit, CHANGES_LIMIT.max) ?? CHANGES_LIMIT.default;
      const position = readCursor(
        query.cursor,
        new RegExp(`^change (${TIME}) ([012]) (\\d{1,15}) (\\d{1,15})$`),
        CURSOR_SOURCE,
      );
      const [at, source, first, second] = position ?? [];
      const after = position && {
        ...{ at: at!, source: Number(source), first: Number(first), second: Number(second) },
      };
      // One more than requested shows whether there is a next page.
      const rows = await listChanges(database, merchantOf(request), { after, limit: limit + 1 });
      const last = rows.length > limit ? rows[limit - 1]?.position : undefined;
      return {
        changes: rows.slice(0, limit).map(({ change }) => change),
        next_cursor: last ? cursorOf(`change ${last.at} ${last.source} ${last.first} ${last.second}`) : null,
      };
    },
  );

  app.get(
    '/stale',
    route('knowledge', 'List documents that may be out of date', {
      operationId: 'listStaleDocuments',
      scopes: ['knowledge:read'],
      description:
        'Documents that somebody should look at, each with the reason: answers from it were judged wrong, or no ' +
        'question has led to it for 90 days.',
      errors: [limitInvalid(STALE_LIMIT.max), cursorInvalid(CURSOR_SOURCE)],
      querystring: StaleQuery,
      response: { 200: StaleDocuments },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const query = request.query as Record<string, unknown>;
      const limit = readLimit(query.limit, STALE_LIMIT.max) ?? STALE_LIMIT.default;
      const position = readCursor(query.cursor, new RegExp(`^unused (${TIME}) (\\d{1,15})$`), CURSOR_SOURCE);
      const from = position && { updatedAt: position[0]!, id: Number(position[1]) };
      const at = now();
      const wrong = await listWrong(database, merchantId, at);
      const { rows, hasMore } = await collectPage<StaleDocument>(
        limit,
        ({ title, body }) => title.length + body.length,
        (last, atMost) => {
          const after = last ? { updatedAt: last.updated_at, id: last.id } : from;
          return listUnused(database, merchantId, { now: at, after, limit: atMost });
        },
      );
      // Those that were wrong are few, and all on the first page.
      const others = rows.filter(({ id }) => !wrong.some((document) => document.id === id));
      const last = hasMore ? rows.at(-1) : undefined;
      return {
        documents: position ? others : [...wrong, ...others],
        next_cursor: last ? cursorOf(`unused ${last.updated_at} ${last.id}`) : null,
      };
    },
  );
}
