import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { storableText } from '../database/text.ts';

/** The document that learned this answer to a notification and still has it, if any. */
export async function findTaught(
  queries: Queries,
  merchantId: MerchantId,
  { notificationId, answer }: { notificationId: number; answer: string },
): Promise<number | undefined> {
  const row = await queries.one<{ id: number }>(
    // A cross join and a plus, so that SQLite does not begin with all of the merchant's documents.
    `select d.id from document_versions v cross join documents d
      where v.merchant_id = $1 and v.notification_id = $2 and d.merchant_id = v.merchant_id and d.id = v.document_id
        and d.body = $3 order by +d.id limit 1`,
    [merchantId, notificationId, storableText(answer)],
  );
  return row?.id;
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
      where ${ownIdIn(queries.engine, '$1', '$2', 'notification_id')}`,
    [merchantId, notificationIds],
  );
  return new Map(rows.map(({ id, answer }) => [id, answer]));
}

/** SQL: what was learned from the answer to a notification, as JSON text. */
export const lessonWire = (merchantId: string, notificationId: string) =>
  `(select concat('{"do":"', q.learned, '","document_id":', q.document_id, ',"version":', q.document_version, '}')
    from answered_questions q
    where q.merchant_id = ${merchantId} and q.notification_id = ${notificationId} and q.learned is not null)`;

/** What was learned from the answer to a notification, as JSON text. */
export async function findLessonWire(
  queries: Queries,
  merchantId: MerchantId,
  notificationId: number,
): Promise<string | undefined> {
  const row = await queries.one<{ lesson: string | null }>(`select ${lessonWire('$1', '$2')} as lesson`, [
    merchantId,
    notificationId,
  ]);
  return row?.lesson ?? undefined;
}
