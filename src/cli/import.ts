import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import { judgeConversation, type NewConversation } from '../conversations/rules.ts';
import { upsertConversations } from '../conversations/store.ts';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import { Failure } from './command.ts';
import { createCsvReader } from './csv.ts';
import { createJsonLinesReader, type FileRecord, type RecordReader } from './records.ts';

export const FORMATS = ['csv', 'jsonl'] as const;
export type Format = (typeof FORMATS)[number];

export interface Summary {
  added: number;
  updated: number;
  unchanged: number;
  failed: number;
}

interface Source {
  chunks: AsyncIterable<Uint8Array>;
  format: Format;
}

interface Watcher {
  onBadLine(line: number, reason: string): void;
  onProgress(soFar: Summary): void;
}

const BATCH_SIZE = 1000;
/** The names under which other systems know our fields. */
const NAMES = {
  reference: ['reference'],
  name: ['name', 'customer_name'],
  phone: ['phone', 'customer_phone'],
} as const;

/** Good lines are kept, whatever the others are. Memory holds one piece of the file and one batch. */
export async function importConversations(
  database: Database,
  merchantId: MerchantId,
  { chunks, format }: Source,
  { onBadLine, onProgress }: Watcher,
): Promise<Summary> {
  const summary: Summary = { added: 0, updated: 0, unchanged: 0, failed: 0 };
  const batch = new Map<string, NewConversation>();
  let lastWriteAt = 0;

  function take(record: FileRecord): void {
    const verdict =
      'problem' in record ? { do: 'refuse' as const, reason: record.problem } : judge(record.fields);
    if (verdict.do === 'refuse') {
      summary.failed += 1;
      onBadLine(record.line, verdict.reason);
      return;
    }
    // A statement takes each reference once. The later line replaces the earlier, as it would in the table.
    if (batch.has(verdict.reference)) summary.updated += 1;
    batch.set(verdict.reference, verdict.conversation);
  }

  async function write(): Promise<void> {
    if (batch.size === 0) return;
    const startedAt = performance.now();
    lastWriteAt = Math.max(Date.now(), lastWriteAt + 1);
    try {
      const done = await upsertConversations(
        database,
        merchantId,
        [...batch.values()],
        new Date(lastWriteAt),
      );
      summary.added += done.added;
      summary.updated += done.updated;
      summary.unchanged += batch.size - done.added - done.updated;
    } catch (cause) {
      if (!(cause instanceof DatabaseUnavailable)) throw cause;
      const stored = summary.added + summary.updated + summary.unchanged;
      throw new Failure(
        `The database went away after ${stored} conversations. Run the import again: it leaves those as they are.`,
        { cause },
      );
    }
    batch.clear();
    onProgress(summary);
    // SQLite's lock has no queue: a server on the same folder gets its turn in the pause.
    if (database.engine === 'sqlite') await sleep(performance.now() - startedAt);
  }

  const reader = readerOf(format);
  const decoder = new TextDecoder();
  const takeAll = async (records: FileRecord[]) => {
    for (const record of records) {
      take(record);
      if (batch.size >= BATCH_SIZE) await write();
    }
  };
  for await (const chunk of chunks) await takeAll(reader.push(decoder.decode(chunk, { stream: true })));
  await takeAll(reader.push(decoder.decode()));
  await takeAll(reader.end());
  await write();
  return summary;
}

function judge(fields: Readonly<Record<string, unknown>>) {
  const pick = (names: readonly string[]) =>
    names.map((name) => fields[name]).find((value) => value !== undefined);
  const verdict = judgeConversation({
    reference: pick(NAMES.reference),
    name: pick(NAMES.name),
    phone: pick(NAMES.phone),
  });
  if (verdict.do === 'refuse') return verdict;
  const { reference } = verdict.conversation;
  // Without one, the same file imported again would add everything again.
  if (reference === null) return { do: 'refuse' as const, reason: 'reference is required' };
  return { ...verdict, reference };
}

function readerOf(format: Format): RecordReader {
  if (format === 'jsonl') return createJsonLinesReader();
  return createCsvReader((columns) => {
    for (const [field, names] of Object.entries(NAMES)) {
      const found = columns.filter((column) => (names as readonly string[]).includes(column)).length;
      if (found === 1) continue;
      throw new Failure(
        found === 0
          ? `The first line must name the columns reference, name and phone; it lacks ${field}.`
          : `The first line names the column ${field} more than once.`,
      );
    }
  });
}
