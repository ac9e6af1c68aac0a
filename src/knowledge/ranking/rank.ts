import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { inSlices } from '../../http/limits/slices.ts';
import type { Meaning } from '../embeddings/meaning.ts';
import { mixScores } from '../embeddings/mix.ts';
import type { QuestionVector } from '../embeddings/questions.ts';
import { featuresOf } from './features.ts';
import { type Loaded, loadDocuments, readState } from './load.ts';
import { better, rounded, type Similar, TextIndex } from './textIndex.ts';

/** Texts with lower scores are mostly similar by coincidence. */
export const SCORE_MIN = 0.2;
/** For whoever can judge weak matches: a text in another language shares little more than names and numbers. */
export const WEAK_SCORE_MIN = 0.05;

/** The indexes of the merchants that were used last stay in memory. One with 10,000 documents takes about 40 MB. */
const KEPT_MAX_BYTES = 128 * 1024 * 1024;

/** The one order of a merchant's texts by how well they fit a question, for everybody who looks for an answer. */
export interface Ranking {
  /** The documents that fit a question, best first. Of those with the same answer only the best. */
  rank(merchantId: MerchantId, question: string, scoreMin: number): Promise<Similar[]>;
  /** The scores of all documents that fit a question at least a little, by id. */
  scores(merchantId: MerchantId, question: string): Promise<Map<number, number>>;
  /** The scores of some texts that are not documents, such as answered questions. */
  compare(merchantId: MerchantId, question: string, texts: readonly string[]): Promise<number[]>;
}

/**
 * Every process keeps the documents in memory in a form that can be compared, and reads what has changed before each use,
 * so that a question is compared with what the database has now. With `meaning`, texts in other words or languages fit, too.
 */
export function createRanking(queries: Queries, meaning?: Meaning): Ranking {
  const kept = new LRUCache<MerchantId, Loaded>({
    maxSize: KEPT_MAX_BYTES,
    sizeCalculation: ({ index, vectors }) =>
      Math.min(KEPT_MAX_BYTES, index.bytes + (vectors?.bytes ?? 0) + 1024),
  });
  const loading = new Map<MerchantId, Promise<unknown>>();

  async function current(merchantId: MerchantId): Promise<Pick<Loaded, 'index' | 'vectors'>> {
    for (;;) {
      const state = await readState(queries, merchantId);
      if (!state) return EMPTY;
      const before = kept.get(merchantId);
      if (before?.version === state.version) return before;
      // What another request loads may be older than this one, so the version is checked again.
      const other = loading.get(merchantId);
      if (other) {
        await other.catch(() => undefined);
        continue;
      }
      const load = loadDocuments(queries, merchantId, state, before, meaning !== undefined);
      loading.set(merchantId, load);
      try {
        const loaded = await load;
        kept.set(merchantId, loaded);
        return loaded;
      } finally {
        loading.delete(merchantId);
      }
    }
  }

  async function scoresByMeaning(
    merchantId: MerchantId,
    { vectors }: Pick<Loaded, 'vectors'>,
    question: QuestionVector | undefined,
  ): Promise<Map<number, number> | undefined> {
    if (!meaning || !vectors || !question) return undefined;
    const { bytes } = vectors;
    const scores = await meaning.scores(merchantId, vectors, question);
    const loaded = kept.get(merchantId);
    // The cache measures only new objects.
    if (vectors.bytes !== bytes && loaded?.vectors === vectors) kept.set(merchantId, { ...loaded });
    return scores;
  }

  return {
    async rank(merchantId, question, scoreMin) {
      const [loaded, vector] = await Promise.all([
        current(merchantId),
        meaning?.vectorOf(merchantId, question),
      ]);
      const { index } = loaded;
      const byMeaning = await scoresByMeaning(merchantId, loaded, vector);
      if (!byMeaning || byMeaning.size === 0) return index.similar(question, scoreMin);
      const mixed = mixScores(scoresByWords(index, question), byMeaning);
      const found = [...mixed].map(([id, score]) => ({ id, score: rounded(score) }));
      return index.oncePerAnswer(found.filter(({ score }) => score >= scoreMin).sort(better));
    },
    async scores(merchantId, question) {
      return scoresByWords((await current(merchantId)).index, question);
    },
    async compare(merchantId, question, texts) {
      if (texts.length === 0) return [];
      const pause = inSlices();
      const features: Uint32Array[] = [];
      for (const text of texts) {
        features.push(featuresOf(text));
        await pause();
      }
      return (await current(merchantId)).index.compare(question, features);
    },
  };
}

const EMPTY = { index: new TextIndex(), vectors: undefined };

const scoresByWords = (index: TextIndex, question: string): Map<number, number> =>
  new Map(index.similar(question, 0.001, { oncePerAnswer: false }).map(({ id, score }) => [id, score]));
