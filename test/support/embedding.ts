import { after, before } from 'node:test';
import { findAuthor } from '../../src/auth/columns.ts';
import type { UserId } from '../../src/contract/ids.ts';
import { SCOPE_NAMES } from '../../src/contract/machineKeys.ts';
import { CHANGES, type Database, type Engine } from '../../src/database/database.ts';
import { learn } from '../../src/knowledge/learn.ts';
import { createKey } from './machineKeys.ts';
import { BOREALIS, type Deskbell, startDeskbell } from './server.ts';
import { AURORA_ID, until } from './shops.ts';
import { type Embeddings, startEmbeddings } from './stand-ins/embeddings.ts';

const ALMA = 1 as UserId;

export const EMBEDDINGS_KEY = 'sk-test-of-embeddings';

const embeddingsEnv = ({ url }: Pick<Embeddings, 'url'>) => ({
  EMBEDDINGS_URL: url,
  EMBEDDINGS_MODEL: 'meaning-1',
  EMBEDDINGS_API_KEY: EMBEDDINGS_KEY,
  // The machine may pause.
  EMBEDDINGS_TIMEOUT_MS: '3000',
});

/** A server with an embeddings endpoint, and functions to write documents as Aurora by default. */
export function useEmbeddings(engine: Engine, options: Parameters<typeof startEmbeddings>[0] = {}) {
  const deskbell = {} as Deskbell;
  const endpoint = {} as Embeddings;
  // Keys: the tests move the clock by days, and tokens expire.
  const tokens = { aurora: '', borealis: '' };
  before(async () => {
    await startEmbeddings({ apiKey: EMBEDDINGS_KEY, ...options }, endpoint);
    Object.assign(deskbell, await startDeskbell(engine, embeddingsEnv(endpoint)));
    tokens.aurora = await createKey(deskbell, SCOPE_NAMES);
    tokens.borealis = await createKey(deskbell, SCOPE_NAMES, BOREALIS);
  });
  after(async () => {
    await deskbell.close?.();
    await endpoint.close?.();
  });

  /** An answer becomes a document. Returns its id. */
  const write = async (
    question: string,
    answer = 'See our page.',
    merchantId = AURORA_ID,
  ): Promise<number> => {
    const lesson = { question, answer, documentId: undefined, notificationId: 12, at: deskbell.clock.now() };
    const learned = await deskbell.database.transaction(async (tx) =>
      learn(tx, merchantId, {
        ...lesson,
        ...(await findAuthor(tx, merchantId, { userId: ALMA, keyId: null })),
      }),
    );
    deskbell.database.signal(CHANGES);
    return learned!.documentId;
  };
  /** A pause after a failure is over. */
  const afterPause = () => {
    deskbell.clock.jump(3600);
    deskbell.database.signal(CHANGES);
  };
  return {
    ...{ deskbell, endpoint, tokens, write, afterPause },
    allMade: () => untilMade(deskbell.database),
  };
}

/** Waits until every document of every merchant has its vectors. */
const untilMade = (database: Database): Promise<void> =>
  until('all vectors are made', async () => {
    database.signal(CHANGES);
    const waiting = await database.all(
      `select v.merchant_id from live_versions v left join vector_progress p on p.merchant_id = v.merchant_id
        where v.topic = 'knowledge' and (p.complete_version is null or p.complete_version <> v.version)`,
    );
    return waiting.length === 0;
  });
