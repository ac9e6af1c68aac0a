import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Engine, Param, Queries, Reads } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';

/** How far each merchant's documents have vectors, and the vectors. */

export interface DueMerchant {
  merchant_id: MerchantId;
  version: string;
}

/** SQL: the merchants with documents that have no vectors of the model yet. Reads one short row per merchant. */
const DUE = `live_versions v left join vector_progress p on p.merchant_id = v.merchant_id
  where v.topic = 'knowledge' and (p.merchant_id is null or p.complete_version <> v.version or p.model <> $1)`;

/** Those that nobody works on, after the given one. */
export const listDue = (
  queries: Queries,
  { model, at, after, limit }: { model: string; at: Date; after: number; limit: number },
): Promise<DueMerchant[]> =>
  queries.all(
    `select v.merchant_id, v.version from ${DUE} and v.merchant_id > $2
        and (p.leased_until is null or p.leased_until <= $3)
      order by v.merchant_id limit $4`,
    [model, after, at.toISOString(), limit],
  );

export async function countDue(queries: Reads, model: string): Promise<number> {
  const row = await queries.one<{ count: number }>(`select count(*) as count from ${DUE}`, [model]);
  return row?.count ?? 0;
}

export interface Lease {
  id: string;
  until: Date;
}

/** The last document that is done. Undefined if another worker was faster. */
export async function claim(
  queries: Queries,
  { merchant_id, version }: DueMerchant,
  { model, lease, at }: { model: string; lease: Lease; at: Date },
): Promise<{ position: number } | undefined> {
  const sameWalk = `vector_progress.model = excluded.model and vector_progress.walk_version <> ''`;
  const [row] = await queries.run<{ position: number }>(
    `insert into vector_progress (merchant_id, model, walk_version, lease, leased_until) values ($1, $2, $3, $4, $5)
      on conflict (merchant_id) do update set lease = excluded.lease, leased_until = excluded.leased_until,
        position = case when ${sameWalk} then vector_progress.position else 0 end,
        walk_version = case when ${sameWalk} then vector_progress.walk_version else excluded.walk_version end,
        complete_version = case when vector_progress.model = excluded.model
          then vector_progress.complete_version else '' end,
        model = excluded.model
      where vector_progress.leased_until <= $6 returning position`,
    [merchant_id, model, version, lease.id, lease.until.toISOString(), at.toISOString()],
  );
  return row;
}

/** False if another worker has the lease now. */
export async function keepLease(queries: Queries, merchantId: MerchantId, lease: Lease): Promise<boolean> {
  const rows = await queries.run(
    'update vector_progress set leased_until = $3 where merchant_id = $1 and lease = $2 returning merchant_id',
    [merchantId, lease.id, lease.until.toISOString()],
  );
  return rows.length > 0;
}

/** Ends the lease. `position` undefined: all documents of the walk are done. */
export async function release(
  queries: Queries,
  merchantId: MerchantId,
  { id }: Lease,
  position: number | undefined,
): Promise<void> {
  const progress =
    position === undefined
      ? `complete_version = walk_version, walk_version = '', position = 0`
      : 'position = cast($3 as bigint)';
  await queries.run(
    `update vector_progress set lease = '', leased_until = '', ${progress} where merchant_id = $1 and lease = $2`,
    position === undefined ? [merchantId, id] : [merchantId, id, position],
  );
}

export interface DocumentTexts {
  id: number;
  title: string;
  version: number;
  updated_at: string;
  /** Vectors that exist, of any model, from any content. */
  vectors: string | null;
  vectors_model: string | null;
}

/** How many documents one statement compares. */
const WINDOW = 1000;

/** The next documents whose vectors are missing or of another model or content, and how far it looked. */
export async function listWithoutVectors(
  queries: Queries,
  merchantId: MerchantId,
  { after, model, limit }: { after: number; model: string; limit: number },
): Promise<{ documents: DocumentTexts[]; lookedUntil: number | undefined }> {
  const end = await queries.one<{ id: number }>(
    `select id from documents where merchant_id = $1 and id > $2 order by id limit 1 offset ${WINDOW - 1}`,
    [merchantId, after],
  );
  const documents = await queries.all<DocumentTexts>(
    `select d.id, d.title, d.version, d.updated_at, v.vectors, v.model as vectors_model
      from documents d left join document_vectors v on v.merchant_id = d.merchant_id and v.document_id = d.id
      where d.merchant_id = $1 and d.id > $2 and d.id <= $3 and (v.document_id is null or v.model <> $4
        or v.document_version <> d.version or v.document_updated_at <> d.updated_at)
      order by d.id limit $5`,
    [merchantId, after, end?.id ?? Number.MAX_SAFE_INTEGER, model, limit],
  );
  const isCut = documents.length === limit;
  return { documents, lookedUntil: isCut ? documents.at(-1)!.id : end?.id };
}

/** An edit need not wait, only a deletion. */
const NOT_DELETED: Record<Engine, string> = { sqlite: '', postgres: 'for key share' };

export interface MadeVectors {
  document: Pick<DocumentTexts, 'id' | 'version' | 'updated_at'>;
  /** By hash. */
  vectors: Readonly<Record<string, string>>;
}

/** Documents that were deleted in between are left out. False if another worker has the lease now. */
export const writeVectors = (
  database: Database,
  merchantId: MerchantId,
  {
    lease,
    model,
    made,
    position,
  }: { lease: Lease; model: string; made: readonly MadeVectors[]; position: number },
): Promise<boolean> =>
  database.transaction(async (tx) => {
    const ids = made.map(({ document }) => document.id);
    const rows = await tx.all<{ id: number }>(
      `select id from documents where ${ownIdIn(tx, '$1', '$2')} order by id ${NOT_DELETED[tx.engine]}`,
      [merchantId, ids],
    );
    const existing = new Set(rows.map(({ id }) => id));
    // The row is locked until the commit, so changes become visible in the order of their numbers.
    const [progress] = await tx.run<{ change: number }>(
      `update vector_progress set change = change + 1, position = $3 where merchant_id = $1 and lease = $2
        returning change`,
      [merchantId, lease.id, position],
    );
    if (!progress) return false;
    const params: Param[] = [merchantId, model, progress.change];
    const values = made
      .filter(({ document }) => existing.has(document.id))
      .map(({ document: { id, version, updated_at }, vectors }) => {
        const first = params.push(id, version, updated_at, JSON.stringify(vectors)) - 3;
        return `($1, $${first}, $2, $${first + 1}, $${first + 2}, $${first + 3}, $3)`;
      });
    if (values.length === 0) return true;
    await tx.run(
      `insert into document_vectors (merchant_id, document_id, model, document_version, document_updated_at, vectors,
          change) values ${values}
        on conflict (merchant_id, document_id) do update set model = excluded.model,
          document_version = excluded.document_version, document_updated_at = excluded.document_updated_at,
          vectors = excluded.vectors, change = excluded.change`,
      params,
    );
    return true;
  });

/** The number of the merchant's last change. 0 if it has no vectors of this model. */
export async function readLastChange(
  queries: Queries,
  merchantId: MerchantId,
  model: string,
): Promise<number> {
  const row = await queries.one<{ change: number }>(
    'select change from vector_progress where merchant_id = $1 and model = $2',
    [merchantId, model],
  );
  return row?.change ?? 0;
}

export interface ChangedVectors {
  document_id: number;
  vectors: string;
  change: number;
}

/** In the order of their changes, after the given one. */
export const listChangedVectors = (
  queries: Queries,
  merchantId: MerchantId,
  {
    model,
    after,
    limit,
  }: { model: string; after: Pick<ChangedVectors, 'change' | 'document_id'>; limit: number },
): Promise<ChangedVectors[]> =>
  queries.all(
    `select document_id, vectors, change from document_vectors
      where merchant_id = $1 and (change, document_id) > ($2, $3) and model = $4
      order by change, document_id limit $5`,
    [merchantId, after.change, after.document_id, model, limit],
  );
