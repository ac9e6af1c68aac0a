import { caughtBy, type Mutation } from './mutation.ts';

/** Meaning across languages. */
export const EMBEDDINGS_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/knowledge/embeddings.test.ts', [
    {
      name: 'an old vector counts for a new title',
      file: 'src/knowledge/embeddings/vectorIndex.ts',
      find: 'valid: hashes.flatMap((hash) => vectors.get(hash) ?? [])',
      replace: 'valid: [...vectors.values()]',
      test: 'finds what was written a moment ago, and no longer what was changed or deleted',
    },
    {
      name: 'every question waits for an endpoint that does not respond',
      file: 'src/knowledge/embeddings/questions.ts',
      find: 'if (!(error as EmbeddingsFailure).isRefusal) open();',
      replace: '',
      test: 'waits once for an endpoint that does not respond, not each time',
    },
  ]),
  ...caughtBy('test/features/knowledge/embeddingsVectors.test.ts', [
    {
      name: 'a redirect is followed with the texts and the key',
      file: 'src/knowledge/embeddings/client.ts',
      find: `redirect: 'manual',`,
      replace: `redirect: 'follow',`,
      test: 'wait while the endpoint fails ("redirect"), and are made when it is back',
    },
    {
      name: 'a text is given up when the endpoint does not respond',
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
      test: 'waits as long as the endpoint asks',
    },
    {
      name: 'a worker writes vectors when another one has taken over',
      file: 'src/knowledge/embeddings/store.ts',
      find: `set change = change + 1, position = $3 where merchant_id = $1 and lease = $2`,
      replace: `set change = change + 1, position = $3 where merchant_id = $1 and lease >= substr($2, 1, 0)`,
      test: 'leaves a merchant to the one that has it, and writes nothing when another one has taken over',
    },
    {
      name: 'two workers get the same merchant',
      file: 'src/knowledge/embeddings/store.ts',
      find: 'where vector_progress.leased_until <= $6 returning position',
      replace: 'where vector_progress.leased_until <> $6 returning position',
      test: 'does not get a merchant that another one took at the same moment',
    },
  ]),
  ...caughtBy('src/knowledge/embeddings/questions.test.ts', [
    {
      name: 'the vectors of questions are shared between merchants',
      file: 'src/knowledge/embeddings/questions.ts',
      find: '`${merchantId}:${text}`',
      replace: 'text',
      test: 'is not shared between merchants',
    },
  ]),
];
