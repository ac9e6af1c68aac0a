import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AuditEventList, AuditQuery } from '../contract/audit.ts';
import { EVENT_NAMES, type EventName } from '../contract/auditEvents.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { invalid, ownerRequired } from '../errors.ts';
import { readId } from '../http/ids.ts';
import { type App, route } from '../http/openapi.ts';
import { cursorOf, nextLink, readCursor, readLimit } from '../http/paging.ts';
import { checkNothing } from '../http/schemas.ts';
import { readSince } from '../http/times.ts';
import { auditEventOf, type EventFilter, listEvents } from './store.ts';

interface AuditParts {
  database: Database;
  /** Sign-in records events here, so this feature cannot import it. */
  requireOwner: (app: FastifyInstance) => void;
  merchantOf: (request: FastifyRequest) => MerchantId;
}

const LIMIT_MAX = 200;
const LIMIT_DEFAULT = 50;

export async function auditRoutes(app: App, parts: AuditParts): Promise<void> {
  const { database, requireOwner, merchantOf } = parts;
  requireOwner(app);
  checkNothing(app);

  app.get(
    '/audit',
    route('audit', 'List audit events', {
      operationId: 'listAuditEvents',
      responseHeaders: ['Link'],
      description: `Who did what, from where and when, newest first, ${LIMIT_DEFAULT} a page. \`Link\` leads to the next page. Only for owners.`,
      errors: [ownerRequired(), whatInvalid()],
      querystring: AuditQuery,
      response: { 200: AuditEventList },
    }),
    async (request, reply) => {
      const filter = readQuery(request.query as Record<string, unknown>);
      // One more than requested shows whether there is a next page.
      const rows = await listEvents(database, merchantOf(request), { ...filter, limit: filter.limit + 1 });
      const page = rows.slice(0, filter.limit);
      const last = page.at(-1);
      if (rows.length > filter.limit && last)
        reply.header('link', nextLink(request, cursorOf(`event ${last.at} ${last.id}`)));
      return page.map(auditEventOf);
    },
  );
}

function readQuery(query: Record<string, unknown>): EventFilter {
  const position = readCursor(query.cursor, /^event (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\d{1,15})$/);
  return {
    what: readWhat(query.what),
    userId: readUserId(query.user_id),
    since: readSince(query.since),
    after: position && { at: position[0]!, id: Number(position[1]) },
    limit: readLimit(query.limit, LIMIT_MAX) ?? LIMIT_DEFAULT,
  };
}

const whatInvalid = () => invalid('what', 'what must be the name of an event, such as sign_in.failed');

function readWhat(given: unknown): EventName | undefined {
  if (given === undefined) return undefined;
  const found = EVENT_NAMES.find((name) => name === given);
  if (!found) throw whatInvalid();
  return found;
}

function readUserId(given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const id = readId(typeof given === 'string' ? given : '');
  if (id === undefined) throw invalid('user_id', 'user_id must be the id of a user');
  return id;
}
