import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { merchantOf, requireMerchant, userOf } from '../../auth/guard.ts';
import type { MerchantId } from '../../contract/ids.ts';
import {
  CountsQuery,
  INBOX_IDS_MAX,
  INBOX_LIMIT,
  INBOX_SORTS,
  InboxCounts,
  InboxHeaders,
  InboxPage,
  InboxQuery,
  PresenceQuery,
} from '../../contract/inbox.ts';
import { Unchanged } from '../../contract/notifications.ts';
import { INBOX_TABS } from '../../contract/plain.ts';
import { ListedPresences } from '../../contract/teamwork.ts';
import { invalid } from '../../errors.ts';
import { readIds } from '../../http/ids.ts';
import { oneOf, readName } from '../../http/input.ts';
import { JSON_TYPE } from '../../http/json.ts';
import { type App, route } from '../../http/openapi.ts';
import { cursorInvalid, limitInvalid, readCursor, readLimit } from '../../http/paging.ts';
import { checkNothing } from '../../http/schemas.ts';
import { matches } from '../list/list.ts';
import { listPresentIn } from '../team/presence.ts';
import { readCounts } from './counts.ts';
import { FILTER_ERRORS, readFilter } from './filter.ts';
import { type ItemParts, readItems } from './items.ts';
import { cursorPattern, type PageRequest, readPage } from './list.ts';

const CURSOR_SOURCE = 'the next_cursor of a page';

const idsInvalid = () =>
  invalid('ids', `ids must be at most ${INBOX_IDS_MAX} whole numbers, separated by commas`);

/** The inbox as the dashboard shows it: short items in pages, tabs, search and counts. */
export async function inboxRoutes(app: App, parts: ItemParts): Promise<void> {
  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/inbox',
    route('notifications', 'List the inbox', {
      operationId: 'listInbox',
      scopes: ['notifications:read'],
      responseHeaders: ['ETag', 'Cache-Control'],
      description:
        'A tab of the inbox in pages of short items, with the state of each message. Search finds what was raised ' +
        'or answered before the request, also a moment ago. Send the `ETag` back as `If-None-Match` to get 304 ' +
        'while the page is the same.',
      errors: [
        oneOf('tab', INBOX_TABS),
        ...FILTER_ERRORS,
        oneOf('sort', INBOX_SORTS),
        limitInvalid(INBOX_LIMIT.max),
        cursorInvalid(CURSOR_SOURCE),
        idsInvalid(),
      ],
      querystring: InboxQuery,
      headers: InboxHeaders,
      response: { 200: InboxPage, 304: Unchanged },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const query = request.query as Record<string, unknown>;
      const page =
        query.ids === undefined
          ? await readPage(parts, merchantId, readPageRequest(request))
          : await readSome(parts, merchantId, readWanted(query.ids));
      const body = Buffer.from(JSON.stringify(page));
      const tag = tagOf(merchantId, body);
      reply.header('etag', tag).header('cache-control', 'private, no-cache');
      const known = request.headers['if-none-match'];
      if (known !== undefined && matches(known, tag)) return reply.code(304).send(undefined as never);
      return reply.type(JSON_TYPE).send(body as never);
    },
  );

  app.get(
    '/inbox/counts',
    route('notifications', 'Count the inbox', {
      operationId: 'countInbox',
      scopes: ['notifications:read'],
      description: 'How many notifications each tab has, with the same filters as the list.',
      errors: FILTER_ERRORS,
      querystring: CountsQuery,
      response: { 200: InboxCounts },
    }),
    (request) =>
      readCounts(parts, merchantOf(request), readFilter(request.query as Record<string, unknown>, request)),
  );

  app.get(
    '/inbox/presence',
    route('notifications', 'See who looks at the inbox', {
      operationId: 'listInboxPresences',
      description:
        'The other people who have one of these notifications open now, or are writing an answer. When it changes, ' +
        'the stream of events has `presence`. Only people can do this.',
      errors: [idsInvalid()],
      querystring: PresenceQuery,
      response: { 200: ListedPresences },
    }),
    (request) => {
      const ids = readWanted((request.query as Record<string, unknown>).ids ?? '');
      const who = { ids, userId: userOf(request), at: parts.now() };
      return listPresentIn(parts.database, merchantOf(request), who);
    },
  );
}

/** Of the content, because time alone changes it: a message waits too long, or a window closes. */
const tagOf = (merchantId: MerchantId, body: Buffer) =>
  `W/"${merchantId}-${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;

function readPageRequest(request: FastifyRequest): PageRequest {
  const query = request.query as Record<string, unknown>;
  const tab = readName('tab', query.tab, INBOX_TABS) ?? 'open';
  const filter = readFilter(query, request);
  const after = readCursor(query.cursor, cursorPattern({ tab, ...filter }), CURSOR_SOURCE);
  return {
    tab,
    ...filter,
    order: readName('sort', query.sort, INBOX_SORTS) === 'oldest' ? 'asc' : 'desc',
    limit: readLimit(query.limit, INBOX_LIMIT.max) ?? INBOX_LIMIT.default,
    after: after && { id: Number(after.at(-1)), updated_at: after[0] },
  };
}

function readWanted(given: unknown): number[] {
  const ids = readIds(given, INBOX_IDS_MAX);
  if (!ids) throw idsInvalid();
  return [...new Set(ids)].sort((a, b) => b - a);
}

async function readSome(
  parts: ItemParts,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<InboxPage> {
  const items = await readItems(parts, merchantId, ids);
  return {
    items: ids.flatMap((id) => items.get(id) ?? []),
    messages: [],
    next_cursor: null,
    complete: true,
  };
}
