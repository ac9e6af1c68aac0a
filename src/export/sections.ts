import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import type { Snapshot } from '../database/database.ts';

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

/** A row may have 256 KiB, so a page has a few megabytes at most. */
const PAGE_ROWS = 25;

/** One line of JSON for each row, a page at a time. */
export async function* linesOf(
  snapshot: Snapshot,
  sections: readonly ExportSection[],
  merchantId: MerchantId,
  onPage: () => void = () => {},
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

/** A section whose rows are in the order of their ids. `sql` has the merchant as $1, the last id as $2, the limit as $3. */
export const sectionById = (type: string, sql: string): ExportSection => ({
  type,
  read: (queries, merchantId, last, limit) => queries.all(sql, [merchantId, Number(last?.id ?? 0), limit]),
});

/** These columns are stored as JSON texts. */
export const withJson = (section: ExportSection, columns: readonly string[]): ExportSection => ({
  ...section,
  read: async (...given) =>
    (await section.read(...given)).map((row) => ({
      ...row,
      ...Object.fromEntries(
        columns.map((name) => [name, row[name] === null ? null : JSON.parse(String(row[name]))]),
      ),
    })),
});
