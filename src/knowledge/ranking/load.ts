import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { readWordings } from '../documents/wordingRows.ts';
import { VectorIndex } from '../embeddings/vectorIndex.ts';
import { TextIndex } from './textIndex.ts';

/** What the knowledge base is compared by, to see whether it has changed. */
interface KnowledgeState {
  version: string;
  deletions: number;
}

/** A merchant's documents in memory. They are at least as new as their state. */
export interface Loaded extends KnowledgeState {
  index: TextIndex;
  /** If there is an embeddings endpoint. */
  vectors: VectorIndex | undefined;
  /** For each document, which version of it was read. */
  stamps: Map<number, string>;
  newest: string;
  /** When all stamps were read, on the process's own clock. */
  completeMs: number;
}

/** If the documents take more memory, the oldest are not compared. A search still finds them by their words. */
const INDEX_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Documents that changed this long before the newest one are read again: another server's clock may be behind, and its
 * transaction may end later.
 */
const OVERLAP_MS = 2 * 60_000;
/** A clock may be wrong by more, or be set back. So a change after this time makes all stamps be read. */
const COMPLETE_EVERY_MS = 60_000;

/** How many are read in one statement. SQLite reads in the thread of all requests. */
const STAMPS_AT_ONCE = 1000;
const TEXTS_AT_ONCE = 50;
/** The first words of a longer answer are enough. */
const WORDS_LENGTH_MAX = 4000;
/** Answers with the same beginning and the same length count as the same. */
const ANSWER_START_LENGTH = 300;

/** Undefined if the merchant never had a document. */
export const readState = (queries: Queries, merchantId: MerchantId): Promise<KnowledgeState | undefined> =>
  queries.one(`select version, deletions from live_versions where merchant_id = $1 and topic = 'knowledge'`, [
    merchantId,
  ]);

/** Reads what has changed since `before`, or everything. */
export async function loadDocuments(
  queries: Queries,
  merchantId: MerchantId,
  state: KnowledgeState,
  before: Loaded | undefined,
  hasMeaning: boolean,
): Promise<Loaded> {
  const { index, vectors, stamps, newest, completeMs } = before ?? {
    index: new TextIndex(),
    vectors: hasMeaning ? new VectorIndex() : undefined,
    stamps: new Map<number, string>(),
    newest: '',
    completeMs: Number.NEGATIVE_INFINITY,
  };
  const startMs = performance.now();
  const isNew = ({ id, stamp }: Stamp) => stamps.get(id) !== stamp;
  // A deleted document leaves no trace: all others must be read.
  let isComplete = before?.deletions !== state.deletions || startMs - completeMs > COMPLETE_EVERY_MS;
  const since = isComplete || newest === '' ? '' : new Date(Date.parse(newest) - OVERLAP_MS).toISOString();
  let rows = await readStamps(queries, merchantId, since);
  if (!isComplete && !rows.some(isNew)) {
    // Something has changed, with an older time.
    isComplete = true;
    rows = await readStamps(queries, merchantId, '');
  }
  const changed = rows.filter(isNew);
  const pause = inSlices();
  for (let from = 0; from < changed.length; from += TEXTS_AT_ONCE) {
    const batch = changed.slice(from, from + TEXTS_AT_ONCE);
    // A new index gets the newest documents first.
    if (before || index.bytes < INDEX_MAX_BYTES) {
      const ids = batch.map(({ id }) => id);
      const others = await readWordings(queries, merchantId, ids);
      for (const { id, title, words, answer } of await readTexts(queries, merchantId, batch)) {
        const wordings = [title, ...(others.get(id) ?? [])];
        index.set(id, { wordings, bodyStems: words.split(' '), answer });
        vectors?.setTexts(id, wordings);
        await pause();
      }
    }
    for (const { id, stamp } of batch) stamps.set(id, stamp);
  }
  if (isComplete) removeOthers({ index, vectors, stamps }, new Set(rows.map(({ id }) => id)));
  if (index.bytes > INDEX_MAX_BYTES) removeOldest(index);
  await index.prepare(pause);
  return {
    ...{ ...state, index, vectors, stamps },
    newest: rows[0]?.updated_at ?? newest,
    completeMs: isComplete ? startMs : completeMs,
  };
}

interface Stamp {
  id: number;
  updated_at: string;
  stamp: string;
}

/** Last updated first. */
async function readStamps(queries: Queries, merchantId: MerchantId, since: string): Promise<Stamp[]> {
  const found: Stamp[] = [];
  const pause = inSlices();
  for (;;) {
    const last = found.at(-1);
    const rows = await queries.all<Stamp>(
      `select id, updated_at, concat(version, ' ', (select concat(count(*), ' ', max(w.id)) from document_wordings w
          where w.merchant_id = $1 and w.document_id = documents.id)) as stamp
        from documents
        where merchant_id = $1 and updated_at >= $2 and (updated_at, id) < ($3, $4)
        order by updated_at desc, id desc limit $5`,
      [merchantId, since, last?.updated_at ?? '~', last?.id ?? 0, STAMPS_AT_ONCE],
    );
    for (const row of rows) found.push(row);
    if (rows.length < STAMPS_AT_ONCE) return found;
    await pause();
  }
}

interface Texts {
  id: number;
  title: string;
  words: string;
  answer: string;
}

const readTexts = (queries: Queries, merchantId: MerchantId, documents: readonly Stamp[]): Promise<Texts[]> =>
  queries.all(
    `select id, title, substr(words, 1, ${WORDS_LENGTH_MAX}) as words,
        concat(length(body), ' ', substr(body, 1, ${ANSWER_START_LENGTH})) as answer
      from documents where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, documents.map(({ id }) => id)],
  );

function removeOthers(
  { index, vectors, stamps }: Pick<Loaded, 'index' | 'vectors' | 'stamps'>,
  existing: Set<number>,
): void {
  for (const id of stamps.keys()) {
    if (existing.has(id)) continue;
    index.delete(id);
    vectors?.delete(id);
    stamps.delete(id);
  }
}

/** Leaves room for new documents. */
function removeOldest(index: TextIndex): void {
  for (const id of [...index.ids()].sort((a, b) => a - b)) {
    if (index.bytes < 0.9 * INDEX_MAX_BYTES) return;
    index.delete(id);
  }
}
