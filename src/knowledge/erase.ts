import type { MerchantId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { customerKey } from './confidence/store.ts';
import { lockDocument } from './documents/lock.ts';
import { bytesOf, type Content, titleFrom } from './documents/texts.ts';
import { wordingKey } from './documents/wordingRows.ts';
import { indexAgain, logChange, writeVersions } from './documents/write.ts';

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
  /** Without name and number. */
  redact: (text: string) => string;
}

const ERASED = '…';

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

/** Rewrites one document and all its versions, if they have something of the person. */
export async function redactDocument(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { questions, notificationIds, redact }: Theirs,
  at: Date,
): Promise<void> {
  const document = await lockDocument(tx, merchantId, id);
  if (!document) return;
  const without = ({ title, body }: Content): Content => {
    const text = redact(body);
    return { title: questions.has(wordingKey(title)) ? titleFrom(text) : redact(title), body: text };
  };
  const wordings = await tx.all<{ id: number; text: string; notification_id: number | null }>(
    'select id, text, notification_id from document_wordings where merchant_id = $1 and document_id = $2',
    [merchantId, id],
  );
  const removed = wordings.filter(
    ({ text, notification_id }) =>
      notificationIds.has(notification_id ?? 0) || questions.has(wordingKey(text)) || redact(text) !== text,
  );
  for (const wording of removed)
    await tx.run('delete from document_wordings where merchant_id = $1 and document_id = $2 and id = $3', [
      ...[merchantId, id, wording.id],
    ]);
  const isRewritten = await redactVersions(tx, merchantId, id, without);
  const content = without(document);
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

async function redactVersions(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  without: (content: Content) => Content,
): Promise<boolean> {
  const versions = await tx.all<Content & { version: number }>(
    'select version, title, body from document_versions where merchant_id = $1 and document_id = $2',
    [merchantId, id],
  );
  let bytes = 0;
  let isRewritten = false;
  for (const { version, ...content } of versions) {
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
  // The triggers count versions when they are added, not when they change.
  if (bytes !== 0)
    await tx.run(
      `update live_versions set bytes = bytes + $2 where merchant_id = $1 and topic = 'knowledge'`,
      [merchantId, bytes],
    );
  return isRewritten;
}

const PAGE = 50;

/** The documents that have something of the person in their texts, whoever they were learned from. */
export async function* documentsWith(
  queries: Queries,
  merchantId: MerchantId,
  isTheirs: (text: string) => boolean,
): AsyncGenerator<number> {
  for (let last = 0; ; ) {
    const documents = await queries.all<{ id: number; texts: string }>(
      `select id, concat(title, ' ', body) as texts from documents where merchant_id = $1 and id > $2
        order by id limit ${PAGE}`,
      [merchantId, last],
    );
    const ids = documents.map(({ id }) => id);
    const own = ownIdIn(queries.engine, '$1', '$2', 'document_id');
    const versions = await queries.all<{ id: number; texts: string }>(
      `select document_id as id, concat(title, ' ', body) as texts from document_versions where ${own}`,
      [merchantId, ids],
    );
    const wordings = await queries.all<{ id: number; texts: string }>(
      `select document_id as id, text as texts from document_wordings where ${own}`,
      [merchantId, ids],
    );
    const found = [...documents, ...versions, ...wordings].filter(({ texts }) => isTheirs(texts));
    yield* new Set(found.map(({ id }) => id).sort((a, b) => a - b));
    if (documents.length < PAGE) return;
    last = documents.at(-1)!.id;
  }
}

/** Titles of documents and wordings that were removed before. */
export async function redactRemovals(
  queries: Queries,
  merchantId: MerchantId,
  isTheirs: (title: string) => boolean,
): Promise<void> {
  const rows = await queries.all<{ id: number; title: string }>(
    'select id, title from knowledge_removals where merchant_id = $1 order by id',
    [merchantId],
  );
  for (const { id } of rows.filter(({ title }) => isTheirs(title)))
    await queries.run('update knowledge_removals set title = $3 where merchant_id = $1 and id = $2', [
      ...[merchantId, id, ERASED],
    ]);
}

/** What the assistant answered by itself: that it did, and whether it was right, still counts. */
export async function redactRecognitions(
  database: Database,
  merchantId: MerchantId,
  {
    conversationIds,
    phones,
    references,
  }: Record<'phones' | 'references', string[]> & { conversationIds: number[] },
  isTheirs: (question: string) => boolean,
): Promise<void> {
  await database.run(
    `update recognitions set question = $3, conversation_id = null
      where ${ownIdIn(database.engine, '$1', '$2', 'conversation_id')} and conversation_id is not null`,
    [merchantId, conversationIds, ERASED],
  );
  const rows = await database.all<{
    id: number;
    question: string | null;
    key: string | null;
    of: number | null;
  }>(
    `select id, question, customer_key as key, conversation_id as of from recognitions
      where merchant_id = $1 and kind = 'known' order by id desc`,
    [merchantId],
  );
  const keys = new Set([...phones, ...references].map((customer) => customerKey(merchantId, customer)));
  for (const { id, question, key, of } of rows) {
    // An earlier version did not note who asked: it may have been this person.
    const isUnknown = key === null && of === null;
    if (question === null || !(isUnknown || keys.has(key ?? '') || isTheirs(question))) continue;
    await database.run(
      `update recognitions set question = $3, customer_key = '' where merchant_id = $1 and id = $2`,
      [merchantId, id, ERASED],
    );
  }
}
