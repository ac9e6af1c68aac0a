import type { MerchantId } from '../../contract/ids.ts';
import type { Queries, Transaction } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { pagesOf } from '../../database/pages.ts';
import { lockDocument } from './lock.ts';
import { bytesOf, type Content, titleFrom } from './texts.ts';
import { wordingKey } from './wordingRows.ts';
import { indexAgain, logChange, writeVersions } from './write.ts';

/**
 * Takes a customer's words, name and number out of the documents. The merchant's own answers stay. A title that is the
 * customer's question is replaced by the beginning of the answer.
 */

/** What is the person's. */
export interface Theirs {
  /** The keys (`questionKey`) of what the person asked. */
  questions: ReadonlySet<string>;
  /** Wordings that came from these are the person's. */
  notificationIds: ReadonlySet<number>;
  redact: Redact;
}

/** The text without name and number. */
export type Redact = (text: string) => string;

/** Two texts with the same key are the same question. */
export const questionKey = (question: string): string => wordingKey(titleFrom(question));

/** The documents that learned from these notifications. */
export async function learnedFrom(
  queries: Queries,
  merchantId: MerchantId,
  notificationIds: readonly number[],
): Promise<number[]> {
  const wanted =
    queries.engine === 'sqlite' ? 'json_each($2)' : 'unnest(cast($2 as bigint[])) as wanted_ids (value)';
  // Not a join, for which both engines may read all of the merchant's rows.
  const documentsIn = (table: string) =>
    `(select string_agg(cast(t.document_id as text), ',') from ${table} t
      where t.merchant_id = $1 and t.notification_id = wanted.id)`;
  const rows = await queries.all<{ ids: string }>(
    `select concat(${documentsIn('document_versions')}, ',', ${documentsIn('document_wordings')}) as ids
      from (select value as id from ${wanted}) wanted`,
    [merchantId, notificationIds],
  );
  const ids = rows.flatMap((row) => row.ids.split(',')).map(Number);
  return [...new Set(ids)].filter((id) => id > 0).sort((x, y) => x - y);
}

/**
 * Rewrites a document and its versions, if they have something of the person. With `notificationIds` only from the first
 * version on that was learned from them: what is older was not written for this person.
 */
export async function redactDocument(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { questions, notificationIds, redact }: Theirs,
  at: Date,
): Promise<void> {
  const document = await lockDocument(tx, merchantId, id);
  if (!document) return;
  const versions = await tx.all<Version>(
    `select version, title, body, notification_id from document_versions where merchant_id = $1 and document_id = $2
      order by version`,
    [merchantId, id],
  );
  const isLearned = ({ notification_id }: { notification_id: number | null }) =>
    notificationIds.has(notification_id ?? 0);
  const learnedAt = versions.findIndex(isLearned);
  const first = notificationIds.size === 0 ? 0 : learnedAt;
  const since = first < 0 ? [] : versions.slice(first);
  // A title that was there before is the merchant's, even if the person asked with the same words.
  const before = new Set(versions.slice(0, Math.max(first, 0)).map(({ title }) => wordingKey(title)));
  const without = ({ title, body }: Content): Content => {
    const text = redact(body);
    const isQuestion = questions.has(wordingKey(title)) && !before.has(wordingKey(title));
    return { title: isQuestion ? titleFrom(text) : redact(title), body: text };
  };
  const wordings = await tx.all<{ id: number; text: string; notification_id: number | null }>(
    'select id, text, notification_id from document_wordings where merchant_id = $1 and document_id = $2',
    [merchantId, id],
  );
  const removed = wordings.filter(
    (wording) =>
      isLearned(wording) ||
      (wording.notification_id === null && questions.has(wordingKey(wording.text))) ||
      (notificationIds.size === 0 && redact(wording.text) !== wording.text),
  );
  for (const wording of removed)
    await tx.run('delete from document_wordings where merchant_id = $1 and document_id = $2 and id = $3', [
      ...[merchantId, id, wording.id],
    ]);
  const isRewritten = await redactVersions(tx, merchantId, id, since, without);
  const content = first < 0 ? document : without(document);
  const isChanged = content.title !== document.title || content.body !== document.body;
  if (!isChanged && !isRewritten && removed.length === 0) return;
  await tx.run('delete from document_vectors where merchant_id = $1 and document_id = $2', [merchantId, id]);
  const origin = { what: 'edit', author: null, notificationId: null, at } as const;
  // A new version, so that every process reads it again.
  if (isChanged) await writeVersions(tx, merchantId, [{ id, content }], origin);
  else {
    await indexAgain(tx, merchantId, [document], at);
    await logChange(tx, merchantId, [document], 'changed', origin);
  }
}

interface Version extends Content {
  version: number;
  notification_id: number | null;
}

async function redactVersions(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  versions: readonly Version[],
  without: (content: Content) => Content,
): Promise<boolean> {
  let bytes = 0;
  let isRewritten = false;
  for (const { version, title, body } of versions) {
    const content = { title, body };
    const after = without(content);
    if (after.title === content.title && after.body === content.body) continue;
    isRewritten = true;
    bytes += bytesOf(after) - bytesOf(content);
    await tx.run(
      `update document_versions set title = $4, body = $5
        where merchant_id = $1 and document_id = $2 and version = $3`,
      [merchantId, id, version, after.title, after.body],
    );
  }
  if (bytes !== 0)
    await tx.run('update documents set former_bytes = former_bytes + $3 where merchant_id = $1 and id = $2', [
      ...[merchantId, id, bytes],
    ]);
  return isRewritten;
}

interface Texts {
  id: number;
  title: string;
  body: string | null;
}

/** The documents, each with all its texts: those of today, of its versions, and its wordings. */
export async function* documentTexts(
  queries: Queries,
  merchantId: MerchantId,
): AsyncGenerator<{ id: number; texts: string[] }> {
  for await (const documents of pagesOf<Texts>(
    queries,
    { name: 'documents' },
    merchantId,
    'id, title, body',
    20,
  )) {
    const ids = documents.map(({ id }) => id);
    const older = Map.groupBy(await olderTexts(queries, merchantId, ids), ({ id }) => id);
    for (const document of documents)
      yield { id: document.id, texts: listOf([document, ...(older.get(document.id) ?? [])]) };
  }
}

const listOf = (rows: readonly Texts[]) => [
  ...new Set(rows.flatMap(({ title, body }) => (body === null ? [title] : [title, body]))),
];

async function olderTexts(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<Texts[]> {
  const own = ownIdIn(queries, '$1', '$2', 'document_id');
  const versions = await queries.all<Texts>(
    `select document_id as id, title, body from document_versions where ${own}`,
    [merchantId, ids],
  );
  const wordings = await queries.all<Texts>(
    `select document_id as id, text as title, null as body from document_wordings where ${own}`,
    [merchantId, ids],
  );
  return [...versions, ...wordings];
}

export const readDocument = (queries: Queries, merchantId: MerchantId, id: number) =>
  queries.one<Content>('select title, body from documents where merchant_id = $1 and id = $2', [
    merchantId,
    id,
  ]);

/** All texts of one document. */
export async function textsOf(queries: Queries, merchantId: MerchantId, id: number): Promise<string[]> {
  const document = await readDocument(queries, merchantId, id);
  return document ? listOf([{ id, ...document }, ...(await olderTexts(queries, merchantId, [id]))]) : [];
}
