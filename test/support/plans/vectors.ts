import { startVectorMaker } from '../../../src/knowledge/embeddings/make.ts';
import { createMeaning } from '../../../src/knowledge/embeddings/meaning.ts';
import { countDue, release } from '../../../src/knowledge/embeddings/store.ts';
import { VectorIndex } from '../../../src/knowledge/embeddings/vectorIndex.ts';
import { toStored } from '../../../src/knowledge/embeddings/vectors.ts';
import { createLogger } from '../../../src/log.ts';
import { until } from '../embedding.ts';
import type { Deskbell } from '../server.ts';
import { AURORA_ID } from '../teaching.ts';

/** Makes vectors of the first documents that have none of this model, and uses them. */
export async function useVectors({ database, clock }: Deskbell, model: string): Promise<void> {
  const log = createLogger({ logLevel: 'silent', logPretty: false });
  let calls = 0;
  const embed = async (texts: readonly string[]) => {
    calls += 1;
    return texts.map(() => toStored([1, 2, 3]));
  };
  const maker = startVectorMaker({ database, embed, model, log, now: clock.now });
  await until('it works', () => calls > 0);
  // It ends its turn first.
  await maker.stop();
  await release(database, AURORA_ID, { id: 'none', until: clock.now() }, undefined);
  await countDue(database, model);
  const meaning = createMeaning({ queries: database, model, questionVectors: async () => undefined });
  await meaning.scores(AURORA_ID, new VectorIndex(), { vector: toStored([1, 2, 3]), background: [] });
}
