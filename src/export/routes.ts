import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { recordEvent } from '../audit/record.ts';
import { callerOf, merchantOf, requireOwner, type WatchRevoked, whoOf } from '../auth/guard.ts';
import { ExportStream } from '../contract/export.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Snapshot } from '../database/database.ts';
import { liftDeadline } from '../database/deadline.ts';
import { ownerRequired, rateLimited, TOKEN_ERRORS } from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';

/** A part of the export. Each feature reads its own tables. */
export interface ExportSection {
  type: string;
  /** The next rows after the last one of the page before, at most `limit`. */
  read(
    queries: Pick<Snapshot, 'engine' | 'all' | 'one'>,
    merchantId: MerchantId,
    last: Record<string, unknown> | undefined,
    limit: number,
  ): Promise<Record<string, unknown>[]>;
}

interface ExportParts {
  database: Database;
  sections: readonly ExportSection[];
  revocations: WatchRevoked;
  now: () => Date;
}

/** A row may have 256 KiB, so a page has a few megabytes at most. */
const PAGE_ROWS = 25;
const OPEN_MAX = 4;
/** Whoever reads slower is disconnected, because of what a snapshot holds and because others wait. */
const OPEN_MAX_MS = 10 * 60_000;
const PAGE_MAX_MS = 20_000;
const RETRY_AFTER_SECONDS = 30;

/** Everything that a merchant has, read from one snapshot, page by page, as fast as the client takes it. */
export function exportRoutes({
  database,
  sections,
  revocations,
  now,
}: ExportParts): FastifyPluginAsyncTypebox {
  const open = new Set<MerchantId>();

  async function* linesOf(
    snapshot: Snapshot,
    merchantId: MerchantId,
    onPage: () => void,
  ): AsyncGenerator<string> {
    for (const { type, read } of sections) {
      let last: Record<string, unknown> | undefined;
      for (let isFull = true; isFull; ) {
        // Other requests run between two pages.
        await nextTurn();
        onPage();
        const rows = await read(snapshot, merchantId, last, PAGE_ROWS);
        last = rows.at(-1);
        isFull = rows.length === PAGE_ROWS;
        if (rows.length > 0) yield rows.map((row) => `${JSON.stringify({ type, ...row })}\n`).join('');
      }
    }
  }

  return async (app) => {
    requireOwner(app);
    app.get(
      '/export',
      {
        config: { isStream: true },
        schema: {
          ...describeRoute('merchant', 'Export everything', {
            operationId: 'exportEverything',
            description:
              'For owners. All that the merchant has, without secrets: settings, team, keys, conversations with their ' +
              'messages, notifications with their answers and notes, sent messages, documents with their wordings and ' +
              'versions, and the audit log. One export of a merchant runs at a time.',
            errors: [...TOKEN_ERRORS, ownerRequired(), rateLimited(RETRY_AFTER_SECONDS)],
          }),
          response: { 200: ExportStream },
        },
      },
      async (request, reply) => {
        const merchantId = merchantOf(request);
        if (open.has(merchantId) || open.size >= OPEN_MAX) throw rateLimited(RETRY_AFTER_SECONDS);
        open.add(merchantId);
        let snapshot: Snapshot | undefined;
        const release = () => {
          snapshot?.close();
          open.delete(merchantId);
        };
        try {
          await recordEvent(database, {
            ...{ what: 'merchant.exported', merchantId, who: whoOf(request), at: now() },
          });
          snapshot = await database.snapshot();
          liftDeadline();
          const end = (reason: string) => () => body.destroy(new Error(reason));
          const timer = setTimeout(end('read too slowly'), OPEN_MAX_MS).unref();
          const pageTimer = setTimeout(end('read too slowly'), PAGE_MAX_MS).unref();
          const lines = linesOf(snapshot, merchantId, () => pageTimer.refresh());
          const body = Readable.from(lines, { objectMode: false });
          const unwatch = revocations.watch(callerOf(request), end('access ended'));
          body.once('close', () => {
            clearTimeout(timer);
            clearTimeout(pageTimer);
            unwatch();
            release();
          });
          return reply
            .type('application/x-ndjson')
            .header('content-disposition', 'attachment; filename="deskbell.ndjson"')
            .send(body as never);
        } catch (error) {
          release();
          throw error;
        }
      },
    );
  };
}

/** A section whose rows are in the order of their ids. `sql` has the merchant as $1, the last id as $2, the limit as $3. */
export const sectionById = (type: string, sql: string): ExportSection => ({
  type,
  read: (queries, merchantId, last, limit) => queries.all(sql, [merchantId, Number(last?.id ?? 0), limit]),
});
