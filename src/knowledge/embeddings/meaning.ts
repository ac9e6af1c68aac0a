import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { inSlices } from '../../http/limits/slices.ts';
import { calibrate } from './mix.ts';
import type { QuestionVector, QuestionVectors } from './questions.ts';
import { listChangedVectors, readLastChange } from './store.ts';
import type { VectorIndex } from './vectorIndex.ts';

/** Compares questions and documents by what they mean, if there is an embeddings endpoint. */
export interface Meaning {
  /** Undefined if it cannot be had at the moment. */
  vectorOf: QuestionVectors;
  /** Scores from 0 to 1, by document, for those that mean something similar. Reads new vectors first. */
  scores(merchantId: MerchantId, index: VectorIndex, question: QuestionVector): Promise<Map<number, number>>;
}

const ROWS_AT_ONCE = 200;

export function createMeaning({
  queries,
  model,
  questionVectors,
}: {
  queries: Queries;
  model: string;
  questionVectors: QuestionVectors;
}): Meaning {
  const loading = new WeakMap<VectorIndex, Promise<void>>();

  async function load(merchantId: MerchantId, index: VectorIndex): Promise<void> {
    const last = await readLastChange(queries, merchantId, model);
    if (last === index.lastChange) return;
    // An older number: the database was restored.
    let after = {
      change: last > index.lastChange ? index.lastChange : 0,
      document_id: Number.MAX_SAFE_INTEGER,
    };
    const pause = inSlices();
    for (;;) {
      const limit = ROWS_AT_ONCE;
      const rows = await listChangedVectors(queries, merchantId, { model, after, limit });
      for (const { document_id, vectors } of rows) {
        index.setVectors(document_id, vectors);
        await pause();
      }
      after = rows.at(-1) ?? after;
      if (rows.length < limit) break;
    }
    // Numbers that came after `last` are read again next time.
    index.lastChange = last;
  }

  return {
    vectorOf: questionVectors,
    async scores(merchantId, index, question) {
      const current = loading.get(index) ?? load(merchantId, index).finally(() => loading.delete(index));
      loading.set(index, current);
      await current;
      return calibrate(await index.compare(question), question);
    },
  };
}
