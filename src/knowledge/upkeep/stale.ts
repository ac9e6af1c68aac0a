import type { MerchantId } from '../../contract/ids.ts';
import type { Document } from '../../contract/knowledge.ts';
import type { StaleDocument } from '../../contract/knowledgeUpkeep.ts';
import type { Queries } from '../../database/database.ts';
import { OUTCOMES_MAX } from '../confidence/store.ts';
import { findDocuments, type Position } from '../documents/read.ts';

/** Documents that somebody should look at: what they say was wrong, or nobody has asked for it for a long time. */

const DAY_MS = 24 * 60 * 60_000;
/** Judgements of this time count. */
const WRONG_DAYS = 30;
const UNUSED_DAYS = 90;
const WRONG_MAX = 50;

const daysBefore = (now: Date, days: number) => new Date(now.getTime() - days * DAY_MS).toISOString();

/** Answers from them were judged wrong, at least as often as right, and they have not been changed since. */
export async function listWrong(
  queries: Queries,
  merchantId: MerchantId,
  now: Date,
): Promise<StaleDocument[]> {
  const judged = await queries.all<{ document_id: number; wrong: number; last: string }>(
    `select document_id, count(case when outcome = 'wrong' then 1 end) as wrong,
        max(case when outcome = 'wrong' then judged_at end) as last
      from (select document_id, kind, outcome, judged_at from recognitions
        where merchant_id = $1 and judged_at is not null and judged_at >= $2
        order by judged_at desc, id desc limit ${OUTCOMES_MAX}) judged
      where kind = 'known' group by document_id
      having count(case when outcome = 'wrong' then 1 end) >= count(case when outcome = 'right' then 1 end)
        and count(case when outcome = 'wrong' then 1 end) > 0
      order by wrong desc, document_id limit ${WRONG_MAX}`,
    [merchantId, daysBefore(now, WRONG_DAYS)],
  );
  const ids = judged.map((row) => row.document_id);
  const documents = await findDocuments(queries, merchantId, ids);
  const byId = new Map(judged.map((row) => [row.document_id, row]));
  return documents
    .filter(({ id, updated_at }) => updated_at <= byId.get(id)!.last)
    .map((document) => ({
      ...document,
      reason: 'wrong',
      wrong: Number(byId.get(document.id)!.wrong),
      last_used_on: null,
    }));
}

/** No question has led to them, and nobody has changed them. Last updated first. */
export async function listUnused(
  queries: Queries,
  merchantId: MerchantId,
  { now, after, limit }: { now: Date; after: Position | undefined; limit: number },
): Promise<StaleDocument[]> {
  const cutoff = daysBefore(now, UNUSED_DAYS);
  const from = after ?? { updatedAt: cutoff, id: 0 };
  const rows = await queries.all<Document & { last_used_on: string | null }>(
    `select d.id, d.title, d.body, d.version, d.created_at, d.updated_at, (select u.day from document_uses u
          where u.merchant_id = $1 and u.document_id = d.id) as last_used_on
      from documents d where d.merchant_id = $1 and (d.updated_at, d.id) < ($3, $4)
        and coalesce((select u.day from document_uses u
          where u.merchant_id = $1 and u.document_id = d.id), '') < $5
      order by d.updated_at desc, d.id desc limit $2`,
    [merchantId, limit, from.updatedAt, from.id, cutoff.slice(0, 10)],
  );
  return rows.map((row) => ({ ...row, reason: 'unused', wrong: 0 }));
}
