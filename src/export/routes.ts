import { Readable } from 'node:stream';
import { recordEvent } from '../audit/record.ts';
import { callerOf, merchantOf, requireOwner, type WatchRevoked, whoOf } from '../auth/guard.ts';
import { ExportStream } from '../contract/export.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Snapshot } from '../database/database.ts';
import { liftDeadline } from '../database/deadline.ts';
import { ownerRequired, rateLimited } from '../errors.ts';
import { type App, route } from '../http/openapi.ts';
import { type ExportSection, linesOf } from './sections.ts';

interface ExportParts {
  database: Database;
  sections: readonly ExportSection[];
  revocations: WatchRevoked;
  now: () => Date;
}

const OPEN_MAX = 4;
/** Whoever reads slower is disconnected, because of what a snapshot holds and because others wait. */
const OPEN_MAX_MS = 10 * 60_000;
const PAGE_MAX_MS = 20_000;
const RETRY_AFTER_SECONDS = 30;

/** Everything that a merchant has, read from one snapshot, page by page, as fast as the client takes it. */
export async function exportRoutes(app: App, parts: ExportParts): Promise<void> {
  const { database, sections, revocations, now } = parts;
  const open = new Set<MerchantId>();

  requireOwner(app);
  app.get(
    '/export',
    route('merchant', 'Export everything', {
      operationId: 'exportEverything',
      isStream: true,
      description:
        'For owners. All that the merchant has, without secrets: settings, team, keys, conversations with their ' +
        'messages, notifications with their answers and notes, sent messages, documents with their wordings and ' +
        'versions, and the audit log. One export of a merchant runs at a time.',
      errors: [ownerRequired(), rateLimited(RETRY_AFTER_SECONDS)],
      response: { 200: ExportStream },
    }),
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
        const lines = linesOf(snapshot, sections, merchantId, () => pageTimer.refresh());
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
}
