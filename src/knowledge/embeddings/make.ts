import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { CHANGES, type Database } from '../../database/database.ts';
import { readWordings } from '../documents/wordingRows.ts';
import { BATCH_MAX, type Embed, EmbeddingsFailure } from './client.ts';
import {
  claim,
  type DocumentTexts,
  type DueMerchant,
  keepLease,
  type Lease,
  listDue,
  listWithoutVectors,
  type MadeVectors,
  release,
  writeVectors,
} from './store.ts';
import { encode, hashOf, inputOf, type StoredVector } from './vectors.ts';

export interface VectorMakerParts {
  database: Database;
  embed: Embed;
  model: string;
  log: Logger;
  now: () => Date;
}

export interface VectorMaker {
  /** Ends the current request. */
  stop(): Promise<void>;
}

/** Signals may be lost with their connection. */
const POLL_MS = 2000;
/** Changes within this time share one look. With many merchants a look takes longer, but at most a tenth of the time. */
const LOOK_EVERY_MS = 200;
const LOOK_SHARE = 10;
const MERCHANTS_AT_ONCE = 20;
/** A model on a small processor needs seconds for a batch. */
const TIMEOUT_MS = 60_000;
const LEASE_MS = 90_000;
/** The first pause after a failure. It doubles with each further one. */
const PAUSE_MS = 5000;
const PAUSE_MAX_MS = 120_000;
/** The length that a text is cut to when the endpoint refuses it. */
const SHORT_LENGTH = 400;

/** Makes the missing vectors of all merchants' documents, one batch per merchant in turn. */
export function startVectorMaker({ database, embed, model, log, now }: VectorMakerParts): VectorMaker {
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let lookMs = 0;
  let failures = 0;
  let pausedUntilMs = 0;

  function lookSoon(): void {
    if (running || signal.aborted) return;
    timer ??= setTimeout(
      () => {
        timer = undefined;
        running = makeAll()
          .catch((err) => log.warn({ err }, 'cannot make vectors of documents; will retry'))
          .finally(() => {
            running = undefined;
          });
      },
      Math.max(LOOK_EVERY_MS, LOOK_SHARE * lookMs),
    ).unref();
  }

  async function makeAll(): Promise<void> {
    let after = 0;
    while (!signal.aborted && now().getTime() >= pausedUntilMs) {
      const startedAt = performance.now();
      const due = await listDue(database, { model, at: now(), after, limit: MERCHANTS_AT_ONCE });
      lookMs = performance.now() - startedAt;
      if (due.length === 0 && after === 0) return;
      after = due.length < MERCHANTS_AT_ONCE ? 0 : due.at(-1)!.merchant_id;
      for (const merchant of due) {
        if (signal.aborted || !(await takeTurn(merchant))) return;
      }
    }
  }

  /** False if the endpoint does not work. */
  async function takeTurn(merchant: DueMerchant): Promise<boolean> {
    const merchantId = merchant.merchant_id;
    const lease = newLease();
    const claimed = await claim(database, merchant, { model, lease, at: now() });
    if (!claimed) return true;
    const after = claimed.position;
    const found = await listWithoutVectors(database, merchantId, { after, model, limit: BATCH_MAX });
    const others = await readWordings(
      database,
      merchantId,
      found.documents.map(({ id }) => id),
    );
    const documents = firstWith(found.documents, others, BATCH_MAX);
    const lookedUntil = documents.length < found.documents.length ? documents.at(-1)!.id : found.lookedUntil;
    try {
      if (documents.length > 0) {
        const keep = () => keepLease(database, merchantId, newLease(lease.id));
        const made = await makeFor(documents, others, keep);
        const position = documents.at(-1)!.id;
        if (!made || !(await writeVectors(database, merchantId, { lease, model, made, position })))
          return true;
      }
      failures = 0;
      await release(database, merchantId, lease, lookedUntil);
      return true;
    } catch (error) {
      // So that another worker, or this one after a restart, can go on at once.
      await release(database, merchantId, lease, after);
      if (!(error instanceof EmbeddingsFailure)) throw error;
      if (!signal.aborted) pauseAfter(error);
      return false;
    }
  }

  function pauseAfter({ retryAfterMs }: EmbeddingsFailure): void {
    const pauseMs = Math.min(PAUSE_MS * 2 ** failures, PAUSE_MAX_MS);
    failures += 1;
    pausedUntilMs = now().getTime() + Math.max(pauseMs, retryAfterMs ?? 0);
  }

  /** Undefined if the lease is lost. */
  async function makeFor(
    documents: readonly DocumentTexts[],
    others: ReadonlyMap<number, readonly string[]>,
    keep: () => Promise<boolean>,
  ): Promise<MadeVectors[] | undefined> {
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
      if (!(await keep())) return undefined;
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

  const newLease = (id: string = randomUUID()): Lease => ({
    id,
    until: new Date(now().getTime() + LEASE_MS),
  });

  const stopListening = database.listen(CHANGES, lookSoon);
  const poll = setInterval(lookSoon, POLL_MS).unref();
  lookSoon();
  return {
    async stop() {
      stopping.abort();
      stopListening();
      clearInterval(poll);
      clearTimeout(timer);
      await running;
    },
  };
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
