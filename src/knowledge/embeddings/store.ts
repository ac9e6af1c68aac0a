import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Engine, Param, Queries, Reads } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';

/** How far each merchant's documents have vectors, and the vectors. */

/** SQL: the merchants with documents that have no vectors of the model yet. Reads one short row per merchant. */
const DUE = `live_versions v left join vector_progress p on p.merchant_id = v.merchant_id
  where v.topic = 'knowledge' and (p.merchant_id is null or p.complete_version <> v.version or p.model <> $1)`;

/** The next ones, after the given one. */
export const listDue = (
  queries: Queries,
  { model, after, limit }: { model: string; after: number; limit: number },
): Promise<{ merchant_id: MerchantId }[]> =>
  queries.all(`select v.merchant_id from ${DUE} and v.merchant_id > $2 order by v.merchant_id limit $3`, [
    model,
    after,
    limit,
  ]);

export async function countDue(queries: Reads, model: string): Promise<number> {
  const row = await queries.one<{ count: number }>(`select count(*) as count from ${DUE}`, [model]);
  return row?.count ?? 0;
}

/** A walk through the documents as they were at a version. Whoever goes on writes how far it has got, if nobody else has. */
export interface Walk {
  model: string;
  walk_version: string;
  /** The last document that is done. */
  position: number;
}

/** Goes on with a walk, or begins one. Undefined if the merchant has no documents any more. */
export async function continueWalk(
  queries: Queries,
  merchantId: MerchantId,
  model: string,
): Promise<Walk | undefined> {
  const walk = await queries.one<Walk>(
    'select model, walk_version, position from vector_progress where merchant_id = $1',
    [merchantId],
  );
  if (walk?.model === model && walk.walk_version !== '') return walk;
  const live = await queries.one<{ version: string }>(
    `select version from live_versions where merchant_id = $1 and topic = 'knowledge'`,
    [merchantId],
  );
  if (!live) return undefined;
  const [begun] = await queries.run<Walk>(
    `insert into vector_progress (merchant_id, model, walk_version) values ($1, $2, $3)
      on conflict (merchant_id) do update set position = 0, walk_version = excluded.walk_version,
        complete_version = case when vector_progress.model = excluded.model
          then vector_progress.complete_version else '' end,
        model = excluded.model
      returning model, walk_version, position`,
    [merchantId, model, live.version],
  );
  return begun;
}

const IS_WALK = 'merchant_id = $1 and model = $2 and walk_version = $3 and position = $4';
const walkParams = (merchantId: MerchantId, { model, walk_version, position }: Walk) =>
  [merchantId, model, walk_version, position] as const;

/** `position` undefined: all documents of the walk are done. */
export async function moveWalk(
  queries: Queries,
  merchantId: MerchantId,
  walk: Walk,
  position: number | undefined,
): Promise<void> {
  const params = walkParams(merchantId, walk);
  if (position === undefined)
    await queries.run(
      `update vector_progress set complete_version = walk_version, walk_version = '', position = 0 where ${IS_WALK}`,
      params,
    );
  else await queries.run(`update vector_progress set position = $5 where ${IS_WALK}`, [...params, position]);
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

/** Documents that were deleted in between are left out. False if another worker has gone on meanwhile. */
export const writeVectors = (
  database: Database,
  merchantId: MerchantId,
  { walk, made, position }: { walk: Walk; made: readonly MadeVectors[]; position: number },
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
      `update vector_progress set change = change + 1, position = $5 where ${IS_WALK} returning change`,
      [...walkParams(merchantId, walk), position],
    );
    if (!progress) return false;
    const params: Param[] = [merchantId, walk.model, progress.change];
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
