import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import { checkConversation, type NewConversation } from '../conversations/rules.ts';
import { upsertConversations } from '../conversations/store.ts';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import type { CountryCode } from '../delivery/phone.ts';
import { createCsvReader } from '../files/csv.ts';
import { createJsonLinesReader, type FileRecord, type RecordReader } from '../files/records.ts';
import { Failure } from './command.ts';
import { count } from './terminal.ts';

export const FORMATS = ['csv', 'jsonl'] as const;
export type Format = (typeof FORMATS)[number];

export interface Summary {
  added: number;
  updated: number;
  unchanged: number;
  failed: number;
}

interface Owner {
  id: MerchantId;
  /** The country of phone numbers without a country code. */
  country: CountryCode | undefined;
}

interface Source {
  chunks: AsyncIterable<Uint8Array>;
  format: Format;
}

interface Watcher {
  onFirstWrite(): Promise<void>;
  onBadLine(line: number, reason: string): void;
  onProgress(soFar: Summary): void;
}

const BATCH_SIZE = 1000;
/** The names that other systems give our fields. */
const NAMES = {
  reference: ['reference'],
  name: ['name', 'customer_name'],
  phone: ['phone', 'customer_phone'],
} as const;

/** Stores the good lines and reports the bad ones. Memory holds one piece of the file and one batch. */
export async function importConversations(
  database: Database,
  merchant: Owner,
  { chunks, format }: Source,
  { onFirstWrite, onBadLine, onProgress }: Watcher,
): Promise<Summary> {
  const summary: Summary = { added: 0, updated: 0, unchanged: 0, failed: 0 };
  const batch = new Map<string, NewConversation>();
  let lastWriteAt = 0;

  function take(record: FileRecord): void {
    const checked = 'problem' in record ? record : check(record.fields, merchant.country);
    if ('problem' in checked) {
      summary.failed += 1;
      onBadLine(record.line, checked.problem);
      return;
    }
    // One statement can write each reference only once. A later line replaces an earlier one, as it would in the table.
    if (batch.has(checked.reference)) summary.updated += 1;
    batch.set(checked.reference, checked.conversation);
  }

  async function write(): Promise<void> {
    if (batch.size === 0) return;
    const startedAt = performance.now();
    if (lastWriteAt === 0) await onFirstWrite();
    lastWriteAt = Math.max(Date.now(), lastWriteAt + 1);
    try {
      const done = await upsertConversations(
        database,
        merchant.id,
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
        `The database stopped responding after ${count(stored, 'conversation')}. Run the import again: it skips what is already stored.`,
        { cause },
      );
    }
    batch.clear();
    onProgress(summary);
    // SQLite's lock has no queue: the pause lets a server on the same folder write.
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

function check(fields: Readonly<Record<string, unknown>>, country: CountryCode | undefined) {
  const pick = (names: readonly string[]) =>
    names.map((name) => fields[name]).find((value) => value !== undefined);
  const checked = checkConversation(
    { reference: pick(NAMES.reference), name: pick(NAMES.name), phone: pick(NAMES.phone) },
    country,
  );
  if ('problem' in checked) return { problem: `${checked.field} ${checked.problem}` };
  const { reference } = checked.conversation;
  // Without one, importing the same file twice would add every conversation twice.
  if (reference === null) return { problem: 'reference is required' };
  return { ...checked, reference };
}

function readerOf(format: Format): RecordReader {
  if (format === 'jsonl') return createJsonLinesReader();
  return createCsvReader((columns) => {
    for (const [field, names] of Object.entries(NAMES)) {
      const found = columns.filter((column) => (names as readonly string[]).includes(column)).length;
      if (found === 1) continue;
      throw new Failure(
        found === 0
          ? `The first line must name the columns reference, name and phone; ${field} is missing.`
          : `The first line names the column ${field} more than once.`,
      );
    }
  });
}
