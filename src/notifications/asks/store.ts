import type { AskStatus, Deliver } from '../../contract/asks.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { batchPerTick } from '../../database/batchPerTick.ts';
import type { Queries, Reads } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { isRequested } from '../columns.ts';

/** What assistants asked, and how it ended: the only SQL that writes asks. */

export interface Ask {
  id: number;
  conversation_id: number;
  reference: string | null;
  /** JSON. */
  metadata: string | null;
  deliver: Deliver;
  status: AskStatus;
  expires_at: string | null;
  answer: string | null;
  answered_by: string | null;
  ended_at: string | null;
  created_at: string;
}

const COLUMNS = `id, conversation_id, reference, metadata, deliver, status, expires_at, answer, answered_by, ended_at,
  created_at`;

interface Key {
  merchantId: MerchantId;
  id: number;
}
export type FindAsk<More = unknown> = (key: Key) => Promise<(Ask & More) | undefined>;

/** SQL: columns of other features, sub-selects on the merchant and `asks.id`. */
type MoreColumns = (merchantId: string) => string;

/** One statement for all lookups of a merchant in one turn of the event loop: many may wait for one ask. */
export function createFindAsk<More>(queries: Queries, more: MoreColumns): FindAsk<More> {
  type Row = Ask & More & { merchant_id: MerchantId };
  const readOwn = ([merchantId, keys]: [MerchantId, readonly Key[]]) =>
    queries.all<Row>(
      `select merchant_id, ${COLUMNS}, ${more('$1')} from asks where ${ownIdIn(queries, '$1', '$2')}`,
      [merchantId, keys.map(({ id }) => id)],
    );
  return batchPerTick(async (keys) => {
    const byMerchant = Map.groupBy(keys, ({ merchantId }) => merchantId);
    const rows = (await Promise.all([...byMerchant].map(readOwn))).flat();
    return keys.map(({ merchantId, id }) =>
      rows.find((row) => row.merchant_id === merchantId && row.id === id),
    );
  });
}

/** The customer's same question, while its notification is pending. */
export function findPendingAsk(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  questionKey: string,
): Promise<Ask | undefined> {
  return queries.one(
    `select ${COLUMNS} from asks where merchant_id = $1 and conversation_id = $2 and question_key = $3
      and status in ('waiting', 'expired')`,
    [merchantId, conversationId, questionKey],
  );
}

export interface NewAsk {
  id: number;
  conversationId: number;
  questionKey: string;
  reference: string | null;
  metadata: string | null;
  deliver: Deliver;
  expiresAt: Date | undefined;
  at: Date;
}

export async function insertAsk(queries: Queries, merchantId: MerchantId, ask: NewAsk): Promise<void> {
  await queries.write(
    `insert into asks (merchant_id, id, conversation_id, question_key, reference, metadata, deliver, expires_at,
        created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      merchantId,
      ask.id,
      ask.conversationId,
      ask.questionKey,
      ask.reference,
      ask.metadata,
      ask.deliver,
      ask.expiresAt?.toISOString() ?? null,
      ask.at.toISOString(),
    ],
  );
}

/** The same question was asked again: it waits again if it had expired, or until a later time. */
export async function waitAgain(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  expiresAt: Date | undefined,
): Promise<void> {
  await queries.write(
    `update asks set status = 'waiting', expires_at = $3
      where merchant_id = $1 and id = $2 and status in ('waiting', 'expired')
        and (status = 'expired' or expires_at < coalesce($3, '9999'))`,
    [merchantId, id, expiresAt?.toISOString() ?? null],
  );
}

/** Its notification is pending again. If the customer has asked the same since, the other ask waits. */
export const reopenAsk = (tx: Queries, merchantId: MerchantId, id: number): Promise<void> =>
  tx.write(
    `update asks set status = 'waiting', answered_by = null, ended_at = null
      where merchant_id = $1 and id = $2 and status = 'resolved'
        and not exists (select 1 from asks other where other.merchant_id = $1
          and other.conversation_id = asks.conversation_id and other.question_key = asks.question_key
          and other.status in ('waiting', 'expired'))`,
    [merchantId, id],
  );

/** How an ask ended, other than by its expiry. */
interface Ending {
  status: 'answered' | 'resolved' | 'cancelled' | 'deleted';
  answer?: string;
  /** The name of the user or key. */
  by: string | null;
  at: Date;
}

/** Writes how an ask ended. One that has expired may still be answered. */
export const endAsk = (
  tx: Queries,
  merchantId: MerchantId,
  id: number,
  { status, answer, by, at }: Ending,
): Promise<void> =>
  tx.write(
    `update asks set status = $3, answer = $4, answered_by = $5, ended_at = $6
      where merchant_id = $1 and id = $2 and status in ('waiting', 'expired')`,
    [merchantId, id, status, answer ?? null, by, at.toISOString()],
  );

/** Those of the asks that no longer wait. */
export async function findEnded(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await queries.all<{ id: number }>(
    `select id from asks where ${ownIdIn(queries, '$1', '$2')} and status <> 'waiting'`,
    [merchantId, ids],
  );
  return rows.map(({ id }) => id);
}

/** Newest first, before the one with this id. */
export function listWaiting<More>(
  queries: Queries,
  merchantId: MerchantId,
  { beforeId, limit }: { beforeId: number; limit: number },
  more: MoreColumns,
): Promise<(Ask & More)[]> {
  return queries.all(
    `select ${COLUMNS}, ${more('$1')} from asks where merchant_id = $1 and status = 'waiting' and id < $2
      order by id desc limit $3`,
    [merchantId, beforeId, limit],
  );
}

export interface Expired {
  merchant_id: MerchantId;
  id: number;
}

/** Asks that nobody waits for any more, longest ago first. Those whose answer is held are not among them. */
export function findExpired(queries: Queries, at: Date, limit: number): Promise<Expired[]> {
  return queries.all(
    `select merchant_id, id from asks where status = 'waiting' and expires_at <= $1
        and ${isRequested('asks.merchant_id', 'asks.id')}
      order by expires_at limit $2`,
    [at.toISOString(), limit],
  );
}

/** A scrape must stay cheap: it counts no further than this. */
const COUNTED_MAX = 10_000;

/** For the metrics: how many questions of all merchants wait for an answer. */
export async function countWaitingAsks(queries: Reads): Promise<number> {
  const row = await queries.one<{ waiting: number }>(
    `select count(*) as waiting from (select 1 from asks where status = 'waiting' limit ${COUNTED_MAX}) counted`,
  );
  return row?.waiting ?? 0;
}
