import { caughtBy, type Mutation } from './mutation.ts';

/** Meaning across languages. */
export const EMBEDDINGS_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/embeddings.test.ts', [
    {
      name: 'an old vector counts for a new title',
      file: 'src/knowledge/embeddings/vectorIndex.ts',
      find: 'valid: hashes.flatMap((hash) => vectors.get(hash) ?? [])',
      replace: 'valid: [...vectors.values()]',
      test: 'finds what was written a moment ago, and no longer what was changed or deleted',
    },
    {
      name: 'vectors of all merchants are compared',
      file: 'src/knowledge/embeddings/store.ts',
      find: 'where merchant_id = $1 and (change, document_id) > ($2, $3) and model = $4',
      replace: 'where $1 > 0 and (change, document_id) > ($2, $3) and model = $4',
      test: 'never finds another merchant’s document',
    },
    {
      name: 'every question waits for an endpoint that is away',
      file: 'src/knowledge/embeddings/questions.ts',
      find: 'if (!(error as EmbeddingsFailure).isRefusal) open();',
      replace: '',
      test: 'waits for an endpoint that is away once, not each time',
    },
  ]),
  ...caughtBy('test/embeddings-vectors.test.ts', [
    {
      name: 'a redirect is followed with the texts and the key',
      file: 'src/knowledge/embeddings/client.ts',
      find: `redirect: 'manual',`,
      replace: `redirect: 'follow',`,
      test: 'wait while the endpoint fails ("redirect"), and are made when it is back',
    },
    {
      name: 'a text is given up when the endpoint is away',
      file: 'src/knowledge/embeddings/make.ts',
      find: `    await probe();
    return embedInParts(texts);`,
      replace: `    return texts.map(() => undefined);`,
      test: 'wait while the endpoint fails ({"status":500}), and are made when it is back',
    },
    {
      name: 'a worker does not wait as long as the endpoint asks',
      file: 'src/knowledge/embeddings/make.ts',
      find: 'Math.max(pauseMs, retryAfterMs ?? 0)',
      replace: 'pauseMs',
      test: 'wait as long as the endpoint asks',
    },
    {
      name: 'two workers make the same vectors',
      file: 'src/knowledge/embeddings/store.ts',
      find: 'where vector_progress.leased_until <= $6 returning position',
      replace: `where vector_progress.leased_until <= $6 or true returning position`,
      test: 'do not make the same vectors',
    },
  ]),
];
