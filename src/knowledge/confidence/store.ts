import { createHash } from 'node:crypto';
import { authorNameOf, existingAuthor } from '../../auth/columns.ts';
import type { Outcome } from '../../contract/confidence.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Database, Queries, Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { storableText } from '../../database/text.ts';

/** What was recognised and how it turned out: the only SQL on recognitions and confidence. */

/** The newest outcomes that a threshold is learned from. Older ones are removed. */
export const OUTCOMES_MAX = 1000;
/** Known answers that nobody has judged, per merchant. More would not be read, and customers could fill the disk. */
export const UNJUDGED_MAX = 2000;
/** Each removal reads the rows that stay, so it runs once in about so many inserts. */
const REMOVE_EVERY = 32;

interface Recognition {
  kind: 'known' | 'asked';
  question: string | null;
  documentId: number;
  score: number;
  notificationId: number | null;
  /** Whose question it was, if that is known. */
  conversationId?: number | null;
  /** The number or reference of a customer who has no conversation yet. */
  customer?: string | null;
  at: Date;
}

/** By which a customer is found again, and nobody can read who it is. */
export const customerKey = (merchantId: MerchantId, customer: string): string =>
  createHash('sha256').update(`${merchantId} ${customer}`).digest('base64url');

let recorded = 0;

/** The assistant got this document as the answer. */
export async function recordKnown(
  tx: Transaction,
  merchantId: MerchantId,
  known: Omit<Recognition, 'kind' | 'notificationId'>,
): Promise<void> {
  await record(tx, merchantId, { ...known, kind: 'known', notificationId: null });
  await countKnown(tx, merchantId, known.at);
  recorded += 1;
  if (recorded % REMOVE_EVERY === 0) await removeUnjudged(tx, merchantId);
}

/** A person is asked, and this was the best candidate. */
export const recordAsked = (
  tx: Transaction,
  merchantId: MerchantId,
  asked: Omit<Recognition, 'kind' | 'question'>,
): Promise<void> => record(tx, merchantId, { ...asked, kind: 'asked', question: null });

async function record(tx: Transaction, merchantId: MerchantId, recognition: Recognition): Promise<void> {
  const { kind, question, documentId, score, notificationId, conversationId = null, at } = recognition;
  const key = recognition.customer == null ? '' : customerKey(merchantId, recognition.customer);
  await insertRows(tx, 'recognitions', [
    {
      ...{ merchant_id: merchantId, kind, question: question === null ? null : storableText(question) },
      ...{ document_id: documentId, score, notification_id: notificationId, created_at: at.toISOString() },
      ...{ unjudged_since: at.toISOString(), conversation_id: conversationId, customer_key: key },
    },
  ]);
  await noteUse(tx, merchantId, documentId, at);
}

/** In so many rows, so that asks at the same time seldom wait for each other. */
const COUNT_ROWS = 16;
const dayOf = (at: Date) => at.toISOString().slice(0, 10);

/** What the assistant answered by itself is counted per day. */
export const countKnown = (tx: Queries, merchantId: MerchantId, at: Date): Promise<void> =>
  tx.write(
    `insert into statistics_days (merchant_id, day, what, number, count) values ($1, $2, 'known', $3, 1)
      on conflict (merchant_id, day, what, number) do update set count = statistics_days.count + 1`,
    [merchantId, dayOf(at), recorded % COUNT_ROWS],
  );

/** A document is of use on the day that a question led to it. Only the first question of a day writes. */
export async function noteUse(
  tx: Queries,
  merchantId: MerchantId,
  documentId: number,
  at: Date,
): Promise<void> {
  const params = [merchantId, documentId, dayOf(at)];
  // An update of the same row would make others wait.
  const isNoted = await tx.one(
    'select day from document_uses where merchant_id = $1 and document_id = $2 and day >= $3',
    params,
  );
  if (isNoted) return;
  await tx.write(
    `insert into document_uses (merchant_id, document_id, day) values ($1, $2, $3)
      on conflict (merchant_id, document_id) do update set day = excluded.day`,
    params,
  );
}

async function removeUnjudged(queries: Queries, merchantId: MerchantId): Promise<void> {
  await queries.run(
    `delete from recognitions where merchant_id = $1 and kind = 'known' and outcome is null
      and id <= (select id from recognitions where merchant_id = $1 and kind = 'known' and outcome is null
        order by id desc limit 1 offset ${UNJUDGED_MAX})`,
    [merchantId],
  );
}

const MERCHANTS_AT_ONCE = 100;

/** Removes the outcomes that no longer count, merchant by merchant. */
export async function removeOldOutcomes(database: Database): Promise<void> {
  let last = 0;
  for (;;) {
    const rows = await database.all<{ merchant_id: number }>(
      `select merchant_id from confidence where merchant_id > $1 order by merchant_id limit ${MERCHANTS_AT_ONCE}`,
      [last],
    );
    for (const { merchant_id } of rows) {
      await database.run(
        `delete from recognitions where merchant_id = $1 and judged_at is not null
          and (judged_at, id) <= (select judged_at, id from recognitions
            where merchant_id = $1 and judged_at is not null order by judged_at desc, id desc
            limit 1 offset ${OUTCOMES_MAX})`,
        [merchant_id],
      );
    }
    if (rows.length < MERCHANTS_AT_ONCE) return;
    last = rows.at(-1)!.merchant_id;
  }
}

/** The best candidate of an ask, while it has no outcome. */
export function findRecognised(
  queries: Queries,
  merchantId: MerchantId,
  notificationId: number,
): Promise<{ id: number; document_id: number; body: string | null } | undefined> {
  return queries.one(
    `select r.id, r.document_id, d.body from recognitions r
      left join documents d on d.merchant_id = r.merchant_id and d.id = r.document_id
      where r.merchant_id = $1 and r.notification_id = $2 and r.outcome is null`,
    [merchantId, notificationId],
  );
}

/** Writes the outcome of an ask. */
export async function judge(
  tx: Queries,
  merchantId: MerchantId,
  { id, outcome, author, at }: { id: number; outcome: Outcome; author: Author; at: Date },
): Promise<void> {
  await tx.write(
    `update recognitions set outcome = $3, judged_by = $4, judged_by_key = $5, judged_at = $6, unjudged_since = null
      where merchant_id = $1 and id = $2 and outcome is null`,
    [merchantId, id, outcome, author.userId, author.keyId, at.toISOString()],
  );
  await renewEvidence(tx, merchantId);
}

/** What is learned from the outcomes is calculated again. */
const renewEvidence = (tx: Queries, merchantId: MerchantId): Promise<void> =>
  tx.write(
    `insert into confidence (merchant_id, version) values ($1, 1)
      on conflict (merchant_id) do update set version = confidence.version + 1`,
    [merchantId],
  );

/** A person judges a known answer, or takes that back. Returns undefined if the merchant has no such answer. */
export async function judgeKnown(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { outcome, author, at }: { outcome: Outcome | null; author: Author; at: Date },
): Promise<KnownAnswer | undefined> {
  const { userId, keyId } = await existingAuthor(tx, merchantId, outcome === null ? null : author);
  const rows = await tx.run(
    `update recognitions set outcome = cast($3 as text), judged_by = $4, judged_by_key = $5, judged_at = $6,
        unjudged_since = case when $3 is null then created_at end
      where merchant_id = $1 and id = $2 and kind = 'known' returning id`,
    [merchantId, id, outcome, userId, keyId, outcome === null ? null : at.toISOString()],
  );
  if (rows.length === 0) return undefined;
  await renewEvidence(tx, merchantId);
  return tx.one(`${KNOWN} where r.merchant_id = $1 and r.id = $2`, [merchantId, id]);
}

/** Only outcomes since this time count. Null: all of them count again. */
export async function resetLearned(tx: Transaction, merchantId: MerchantId, at: Date | null): Promise<void> {
  await tx.run(
    `insert into confidence (merchant_id, version, reset_at) values ($1, 1, $2)
      on conflict (merchant_id) do update set version = confidence.version + 1, reset_at = excluded.reset_at`,
    [merchantId, at?.toISOString() ?? null],
  );
}

export interface KnownAnswer {
  id: number;
  question: string;
  document_id: number;
  /** Null if the document is gone. */
  title: string | null;
  /** Its beginning. */
  body: string | null;
  score: number;
  outcome: Outcome | null;
  judged_by: string | null;
  judged_at: string | null;
  created_at: string;
}

/** People judge the answer without opening the document. A page has at most 100. */
const KNOWN_BODY_MAX = 600;

/** The merchant is $1. */
const KNOWN = `select r.id, r.question, r.document_id, d.title, substr(d.body, 1, ${KNOWN_BODY_MAX}) as body, r.score, r.outcome,
    ${authorNameOf('$1', 'r.judged_by', 'r.judged_by_key')} as judged_by, r.judged_at, r.created_at
  from recognitions r left join documents d on d.merchant_id = r.merchant_id and d.id = r.document_id`;

/** Newest first, before the one with this id. */
export function listKnown(
  queries: Queries,
  merchantId: MerchantId,
  { beforeId, limit }: { beforeId: number; limit: number },
): Promise<KnownAnswer[]> {
  return queries.all(
    `${KNOWN} where r.merchant_id = $1 and r.kind = 'known' and r.id < $2 order by r.id desc limit $3`,
    [merchantId, beforeId, limit],
  );
}

/** The newest ones. */
export function listOutcomes(
  queries: Queries,
  merchantId: MerchantId,
  since: string | null,
): Promise<{ score: number; outcome: Outcome }[]> {
  return queries.all(
    `select score, outcome from recognitions where merchant_id = $1 and judged_at is not null and judged_at > $2
      order by judged_at desc, id desc limit ${OUTCOMES_MAX}`,
    [merchantId, since ?? ''],
  );
}
