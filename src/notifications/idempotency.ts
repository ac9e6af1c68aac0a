import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { merchantOf } from '../auth/guard.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import {
  ApiError,
  idempotencyKeyInFlight,
  idempotencyKeyReused,
  invalid,
  isFailure,
  tooManyIdempotencyKeys,
} from '../errors.ts';

export const REPLAY_MS = 24 * 60 * 60_000;
/** Of a merchant within 24 hours, in each process: counting in the database would slow down every write. */
const KEYS_MAX = 1_000_000;
/** Without this, refused calls could use up the keys. */
const REFUSALS_MAX = 1000;
/** Merchants counted at a time. */
const MERCHANTS_MAX = 10_000;
const REPLAYED = { 'idempotency-replayed': 'true' };

/** What a write returns: also the headers of its response, if it has some. */
interface Written {
  headers?: Record<string, string>;
}

/** What this process has stored for a merchant since the window began. */
interface Stored {
  keys: number;
  refusals: number;
  endsAtMs: number;
}

type Outcome<T> = { done: T } | { refused: ReturnType<ApiError['body']> };

/** A request to write. */
interface Call {
  merchantId: MerchantId;
  /** Absent: the write runs without a record. */
  key: string | undefined;
  /** A second request with the same key must have the same text. */
  request: string;
  at: Date;
}

/** Must be all or nothing. */
type Perform<T> = (queries: Database | Transaction) => Promise<T>;

/**
 * Performs a write; with an Idempotency-Key only once. The outcome is stored in the same transaction as the write, so
 * neither exists without the other. A refusal is an outcome too, but has changed nothing: above the limit it is not
 * stored, and a repeated call is checked again. A failure is not stored, so that a retry may succeed.
 */
export function createPerformOnce(database: Database, keysMax = KEYS_MAX) {
  const stored = new LRUCache<MerchantId, Stored>({ max: MERCHANTS_MAX });

  function storedOf(merchantId: MerchantId, at: Date): Stored {
    let own = stored.get(merchantId);
    if (!own || own.endsAtMs <= at.getTime()) {
      own = { keys: 0, refusals: 0, endsAtMs: at.getTime() + REPLAY_MS };
      stored.set(merchantId, own);
    }
    return own;
  }

  function assertKeysLeft({ keys, endsAtMs }: Stored, at: Date): void {
    if (keys >= keysMax) throw tooManyIdempotencyKeys(keysMax, Math.ceil((endsAtMs - at.getTime()) / 1000));
  }

  async function outcomeOf<T>(
    tx: Transaction,
    { merchantId, at }: Call,
    perform: Perform<T>,
  ): Promise<Outcome<T>> {
    const own = storedOf(merchantId, at);
    assertKeysLeft(own, at);
    try {
      return { done: await perform(tx) };
    } catch (error) {
      // When something has been deleted, a retry may succeed.
      if (!(error instanceof ApiError) || isFailure(error.code) || error.code === 'STORAGE_FULL') throw error;
      if (own.refusals >= REFUSALS_MAX) throw error;
      return { refused: error.body() };
    }
  }

  async function once<T extends object>(call: Call, perform: Perform<T>): Promise<T & Written> {
    const { merchantId, key, at } = call;
    if (key === undefined) return perform(database);
    assertKey(key);
    const fingerprint = fingerprintOf(call);

    const { outcome, headers } = await database.transaction(async (tx) => {
      if (!(await tx.tryLock(`idempotency ${merchantId} ${key}`))) throw idempotencyKeyInFlight();
      const first = await findOutcome<T>(tx, merchantId, key, { fingerprint, at });
      if (first) return { outcome: first, headers: REPLAYED };
      const outcome = await outcomeOf(tx, call, perform);
      await tx.run(
        `insert into idempotency_keys (merchant_id, key, fingerprint, outcome, created_at)
          values ($1, $2, $3, $4, $5)
          on conflict (merchant_id, key) do update set fingerprint = excluded.fingerprint,
            outcome = excluded.outcome, created_at = excluded.created_at`,
        [merchantId, key, fingerprint, JSON.stringify(outcome), at.toISOString()],
      );
      return { outcome, headers: {} };
    });

    // Only now: the transaction may have run more than once.
    if (headers !== REPLAYED) storedOf(merchantId, at)['refused' in outcome ? 'refusals' : 'keys'] += 1;
    if ('refused' in outcome) {
      const { code, detail, field } = outcome.refused;
      throw new ApiError(code, detail, { headers, ...(field === undefined ? {} : { field }) });
    }
    const done: T & Written = outcome.done;
    return { ...done, headers: { ...done.headers, ...headers } };
  }

  const inFlight = new Set<string>();
  /**
   * A write in several transactions, whose outcome is stored after the last one. If it ends half-way, the repeated call
   * performs it again, so it must go on then.
   */
  async function inParts<T extends object>(call: Call, perform: () => Promise<T>): Promise<T & Written> {
    const { merchantId, key, at } = call;
    if (key === undefined) return perform();
    assertKey(key);
    // In this process only: elsewhere the same call would go on with the parts that are left.
    const name = `${merchantId} ${key}`;
    if (inFlight.has(name)) throw idempotencyKeyInFlight();
    inFlight.add(name);
    try {
      const first = await findOutcome<T>(database, merchantId, key, {
        fingerprint: fingerprintOf(call),
        at,
      });
      if (!first) assertKeysLeft(storedOf(merchantId, at), at);
      const done = first ? undefined : await perform();
      return await once(call, async () => done!);
    } finally {
      inFlight.delete(name);
    }
  }
  return { once, inParts };
}

function assertKey(key: string): void {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return;
  throw invalid(
    'Idempotency-Key',
    'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
  );
}

const fingerprintOf = ({ request }: { request: string }) =>
  createHash('sha256').update(request).digest('base64url');

async function findOutcome<T>(
  queries: Queries,
  merchantId: MerchantId,
  key: string,
  { fingerprint, at }: { fingerprint: string; at: Date },
): Promise<Outcome<T> | undefined> {
  const first = await queries.one<{ fingerprint: string; outcome: string }>(
    `select fingerprint, outcome from idempotency_keys
      where merchant_id = $1 and key = $2 and created_at > $3`,
    [merchantId, key, new Date(at.getTime() - REPLAY_MS).toISOString()],
  );
  if (!first) return undefined;
  if (first.fingerprint !== fingerprint) throw idempotencyKeyReused();
  return JSON.parse(first.outcome) as Outcome<T>;
}

/** Performs the write of a request, only once if it has an Idempotency-Key, and sets its headers. */
export type WriteOnce = ReturnType<typeof createWriteOnce>;

export function createWriteOnce({ database, now }: { database: Database; now: () => Date }) {
  const { once, inParts } = createPerformOnce(database);
  async function write<T extends object>(
    request: FastifyRequest,
    reply: FastifyReply,
    perform: (call: Call) => Promise<T & Written>,
  ) {
    const key = request.headers['idempotency-key'];
    const { headers, ...written } = await perform({
      merchantId: merchantOf(request),
      key: key === undefined ? undefined : String(key),
      // The text, not the value: JavaScript may read two different large numbers as the same number.
      request: `${request.method} ${request.url}\n${request.bodyText}`,
      at: now(),
    });
    reply.headers(headers ?? {});
    return written;
  }
  return Object.assign(
    <T extends object>(request: FastifyRequest, reply: FastifyReply, perform: Perform<T>) =>
      write(request, reply, (call) => once(call, perform)),
    {
      inParts: <T extends object>(request: FastifyRequest, reply: FastifyReply, perform: () => Promise<T>) =>
        write(request, reply, (call) => inParts(call, perform)),
    },
  );
}
