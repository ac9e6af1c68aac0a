import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { storableText } from '../database/text.ts';
import { titleFrom } from './documents/texts.ts';

interface Taught {
  notificationId: number;
  question: string;
  answer: string;
  /** The document that the notification refers to, if any. */
  documentId: number | undefined;
}

/** The document that learned this answer to a notification and still has it, if any. */
export async function findTaught(
  queries: Queries,
  merchantId: MerchantId,
  { notificationId, question, answer, documentId }: Taught,
): Promise<number | undefined> {
  // By id or title, because versions have no index by notification.
  const find = (column: 'id' | 'title', key: number | string) =>
    queries.one<{ id: number }>(
      // A cross join and a plus, so that SQLite does not begin with all of the merchant's versions or documents.
      `select d.id from documents d cross join document_versions v
        where v.merchant_id = d.merchant_id and v.document_id = d.id and d.merchant_id = $1 and d.${column} = $2
          and d.body = $3 and v.notification_id = $4 order by +d.id limit 1`,
      [merchantId, key, storableText(answer), notificationId],
    );
  const named = Number.isSafeInteger(documentId) ? await find('id', documentId!) : undefined;
  return (named ?? (await find('title', titleFrom(question))))?.id;
}

export async function documentExists(queries: Queries, merchantId: MerchantId, id: number): Promise<boolean> {
  const sql = 'select id from documents where merchant_id = $1 and id = $2';
  return (await queries.one(sql, [merchantId, id])) !== undefined;
}

/** Those of the notifications whose answers a document has learned, as a version or as another wording. */
export async function taughtAmong(
  queries: Queries,
  merchantId: MerchantId,
  notificationIds: readonly number[],
): Promise<Set<number>> {
  const wanted =
    queries.engine === 'sqlite' ? 'json_each($2)' : 'unnest(cast($2 as bigint[])) as wanted_ids (value)';
  // Not a join, for which PostgreSQL may read a whole index.
  const learnedIn = (table: string) =>
    `(select 1 from ${table} t where t.merchant_id = $1 and t.notification_id = wanted.id limit 1)`;
  const rows = await queries.all<{ id: number }>(
    `select id from (select value as id from ${wanted}) wanted
      where coalesce(${learnedIn('document_versions')}, ${learnedIn('document_wordings')}) is not null`,
    [merchantId, notificationIds],
  );
  return new Set(rows.map(({ id }) => id));
}

/** What customers were told, by notification. */
export async function answersOf(
  queries: Queries,
  merchantId: MerchantId,
  notificationIds: readonly number[],
): Promise<Map<number, string>> {
  const rows = await queries.all<{ id: number; answer: string }>(
    `select notification_id as id, answer from answered_questions
      where ${ownIdIn(queries, '$1', '$2', 'notification_id')}`,
    [merchantId, notificationIds],
  );
  return new Map(rows.map(({ id, answer }) => [id, answer]));
}

/** SQL: what was learned from the answer to a notification, as JSON text. */
export const lessonWire = (merchantId: string, notificationId: string) =>
  `(select concat('{"do":"', q.learned, '","document_id":', q.document_id, ',"version":', q.document_version, '}')
    from answered_questions q
    where q.merchant_id = ${merchantId} and q.notification_id = ${notificationId} and q.learned is not null)`;
