import { CHANGES, type Database } from '../../database/database.ts';
import { type Job, Unavailable } from '../../jobs/job.ts';
import { readWordings } from '../documents/wordingRows.ts';
import { BATCH_MAX, type Embed, EmbeddingsFailure } from './client.ts';
import {
  continueWalk,
  type DocumentTexts,
  listDue,
  listWithoutVectors,
  type MadeVectors,
  moveWalk,
  writeVectors,
} from './store.ts';
import { encode, hashOf, inputOf, type StoredVector } from './vectors.ts';

export interface VectorParts {
  database: Database;
  embed: Embed;
  model: string;
}

const MERCHANTS_AT_ONCE = 20;
/** A model on a small processor needs seconds for a batch. */
const TIMEOUT_MS = 60_000;
/** The length that a text is cut to when the endpoint refuses it. */
const SHORT_LENGTH = 400;

/** Makes the missing vectors of all merchants' documents, one batch per merchant in turn. */
export const makeVectors = (parts: VectorParts): Job => ({
  name: 'vectors',
  purpose: 'make vectors of documents',
  everyMs: 2000,
  wakes: [CHANGES],
  gatherMs: 200,
  lease: true,
  pauseMs: { min: 5000, max: 120_000 },
  due: ({ after }) =>
    listDue(parts.database, { model: parts.model, after: after?.merchant_id ?? 0, limit: MERCHANTS_AT_ONCE }),
  async run({ merchant_id: merchantId }, { signal }) {
    const { database, model } = parts;
    const walk = await continueWalk(database, merchantId, model);
    if (!walk) return 'done';
    const found = await listWithoutVectors(database, merchantId, {
      after: walk.position,
      model,
      limit: BATCH_MAX,
    });
    const others = await readWordings(
      database,
      merchantId,
      found.documents.map(({ id }) => id),
    );
    const documents = firstWith(found.documents, others, BATCH_MAX);
    const lookedUntil = documents.length < found.documents.length ? documents.at(-1)!.id : found.lookedUntil;
    if (documents.length > 0) {
      const made = await createMaker(parts, signal)(documents, others).catch((err) => {
        // All other merchants' texts would fail, too.
        throw err instanceof EmbeddingsFailure ? new Unavailable(err, err.retryAfterMs) : err;
      });
      const position = documents.at(-1)!.id;
      // Another worker has taken over.
      if (!(await writeVectors(database, merchantId, { walk, made, position }))) return 'done';
      walk.position = position;
    }
    await moveWalk(database, merchantId, walk, lookedUntil);
    return 'more';
  },
});

/** Makes the vectors that documents do not have yet. */
function createMaker({ embed, model }: VectorParts, signal: AbortSignal) {
  async function makeFor(
    documents: readonly DocumentTexts[],
    others: ReadonlyMap<number, readonly string[]>,
  ): Promise<MadeVectors[]> {
    const wanted = documents.map((document) => ({
      document,
      texts: new Map(
        [document.title, ...(others.get(document.id) ?? [])].map((text) => [hashOf(text), inputOf(text)]),
      ),
    }));
    const known = new Map<string, string>();
    for (const { vectors, vectors_model } of documents) {
      if (vectors === null || vectors_model !== model) continue;
      for (const [hash, vector] of Object.entries(JSON.parse(vectors))) known.set(hash, vector as string);
    }
    const missing = new Map(
      wanted.flatMap(({ texts }) => [...texts].filter(([hash, text]) => text !== '' && !known.has(hash))),
    );
    const hashes = [...missing.keys()];
    for (let from = 0; from < hashes.length; from += BATCH_MAX) {
      const batch = hashes.slice(from, from + BATCH_MAX);
      const vectors = await embedEach(batch.map((hash) => missing.get(hash)!));
      for (const [place, hash] of batch.entries()) {
        const vector = vectors[place];
        known.set(hash, vector ? encode(vector) : '');
      }
    }
    return wanted.map(({ document, texts }) => ({
      document,
      vectors: Object.fromEntries([...texts.keys()].map((hash) => [hash, known.get(hash) ?? ''])),
    }));
  }

  /** Undefined for texts that the endpoint refuses, although it works. */
  async function embedEach(texts: readonly string[]): Promise<(StoredVector | undefined)[]> {
    const vectors = await embedUnlessRefused(texts);
    if (vectors) return vectors;
    await probe();
    return embedInParts(texts);
  }

  /** A batch that is refused is split in two. A single text is retried, then cut. */
  async function embedInParts(texts: readonly string[]): Promise<(StoredVector | undefined)[]> {
    if (texts.length > 1) {
      const half = Math.ceil(texts.length / 2);
      const vectors: (StoredVector | undefined)[] = [];
      for (const part of [texts.slice(0, half), texts.slice(half)]) {
        vectors.push(...((await embedUnlessRefused(part)) ?? (await embedInParts(part))));
      }
      return vectors;
    }
    const [text = ''] = texts;
    for (const tried of [text, text, text.slice(0, SHORT_LENGTH).toWellFormed()]) {
      const vectors = await embedUnlessRefused([tried]);
      if (vectors) return vectors;
    }
    await probe();
    return [undefined];
  }

  /** If it refuses everything, it is not because of the texts. */
  const probe = () => embed(['Hello'], { timeoutMs: TIMEOUT_MS, signal, isProbe: true });

  async function embedUnlessRefused(texts: readonly string[]): Promise<StoredVector[] | undefined> {
    try {
      return await embed(texts, { timeoutMs: TIMEOUT_MS, signal });
    } catch (error) {
      if (error instanceof EmbeddingsFailure && (error.isRefusal || error.code === 'HTTP_500'))
        return undefined;
      throw error;
    }
  }

  return makeFor;
}

/** So many of the documents that they have about this many texts, so that a merchant's turn stays short. */
function firstWith(
  documents: readonly DocumentTexts[],
  others: ReadonlyMap<number, readonly string[]>,
  textsMax: number,
): readonly DocumentTexts[] {
  let texts = 0;
  const end = documents.findIndex(({ id }) => {
    const isFull = texts >= textsMax;
    texts += 1 + (others.get(id)?.length ?? 0);
    return isFull;
  });
  return end === -1 ? documents : documents.slice(0, end);
}
