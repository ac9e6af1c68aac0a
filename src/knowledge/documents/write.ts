import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Document } from '../../contract/knowledge.ts';
import type { Param, Queries, Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { logEvents } from '../../events/record.ts';
import { FIELDS, parametersOf, wordColumns } from './columns.ts';
import { lockDocument } from './lock.ts';
import { recordRemoval } from './removals.ts';
import type { Content } from './texts.ts';
import { insertVersions, type Origin } from './versions.ts';
import { readWordings } from './wordingRows.ts';

/** Adds a document with its first version. `id` is a new number, if it is known before. */
export async function createDocument(
  tx: Queries,
  merchantId: MerchantId,
  content: Content,
  origin: Origin,
  id?: number,
): Promise<Document> {
  const [document] = await createDocuments(
    tx,
    merchantId,
    [content],
    origin,
    id === undefined ? undefined : [id],
  );
  return document!;
}

/** Adds documents, each with its first version. */
export async function createDocuments(
  tx: Queries,
  merchantId: MerchantId,
  contents: readonly Content[],
  origin: Origin,
  newIds?: readonly number[],
): Promise<Document[]> {
  if (contents.length === 0) return [];
  const ids = newIds ?? (await tx.newIds('documents', contents.length));
  const time = origin.at.toISOString();
  const documents = contents.map(({ title, body }, index) => ({
    ...{ id: ids[index]!, title, body, version: 1, created_at: time, updated_at: time },
  }));
  const rows = documents.map((document) => {
    const [titleWords, words, wordForms] = wordColumns(document);
    return {
      ...{ merchant_id: merchantId, ...document },
      ...{ title_words: titleWords, words, word_forms: wordForms },
    };
  });
  await insertRows(tx, 'documents', rows);
  await insertVersions(tx, merchantId, documents, origin);
  await logChange(tx, merchantId, documents, 'created', origin);
  return documents;
}

/** Programs hear of each document, but only of the number in an import. */
export function logChange(
  tx: Queries,
  merchantId: MerchantId,
  documents: readonly Pick<Document, 'id'>[],
  change: 'created' | 'changed',
  { what, at }: Pick<Origin, 'what' | 'at'>,
): Promise<void> {
  const changes =
    what === 'import'
      ? [{ document_id: null, change, count: documents.length }]
      : documents.map(({ id }) => ({ document_id: id, change }));
  return logEvents(
    tx,
    merchantId,
    changes.map((data) => ({ type: 'knowledge.updated', at, notificationId: null, data })),
  );
}

/**
 * Locks a document until the transaction ends and writes what `decide` returns as its next version. Returns
 * undefined if the merchant has no such document.
 */
export async function changeDocument(
  tx: Queries,
  merchantId: MerchantId,
  id: number,
  decide: (current: Document) => Content | Promise<Content>,
  origin: Origin,
): Promise<Document | undefined> {
  const current = await lockDocument(tx, merchantId, id);
  if (!current) return undefined;
  const content = await decide(current);
  if (isSame(current, content)) return current;
  const [document] = await writeVersions(tx, merchantId, [{ id, content }], origin);
  return document;
}

/** The same content makes no new version. */
export const isSame = (current: Document, { title, body }: Content) =>
  title === current.title && body === current.body;

/** What the wordings of a document take. Its trigger counts them with it. */
const bytesOfAll = (wordings: readonly string[] = []) =>
  wordings.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** Writes the next version of documents that the caller has locked. */
export async function writeVersions(
  tx: Queries,
  merchantId: MerchantId,
  changes: readonly { id: number; content: Content }[],
  origin: Origin,
): Promise<Document[]> {
  const wordings = await readWordings(
    tx,
    merchantId,
    changes.map(({ id }) => id),
  );
  const params: Param[] = [merchantId, origin.at.toISOString()];
  const rows = changes.map(({ id, content }) => {
    const own = wordings.get(id);
    const [idName, bytes, ...texts] = parametersOf(params, [
      ...[id, bytesOfAll(own)],
      ...[content.title, content.body, ...wordColumns(content, own)],
    ]);
    return `(cast(${idName} as bigint), cast(${bytes} as bigint), ${texts})`;
  });
  const documents = await tx.run<Document>(
    `with change (document_id, bytes, new_title, new_body, new_title_words, new_words, new_word_forms)
        as (values ${rows})
      update documents set title = new_title, body = new_body, updated_at = $2, version = version + 1,
        title_words = new_title_words, words = new_words, word_forms = new_word_forms, wordings_bytes = change.bytes,
        former_bytes = former_bytes + octet_length(title) + octet_length(body)
      from change where merchant_id = $1 and id = document_id and id in (select document_id from change)
      returning ${FIELDS}`,
    // Without the sub-select SQLite joins the other way round and reads all of the merchant's documents.
    params,
  );
  await insertVersions(tx, merchantId, documents, origin);
  await logChange(tx, merchantId, documents, 'changed', origin);
  return documents;
}

/** After a change of wordings: the same version with other words. */
export async function indexAgain(
  tx: Queries,
  merchantId: MerchantId,
  documents: readonly Document[],
  at: Date,
): Promise<void> {
  const wordings = await readWordings(
    tx,
    merchantId,
    documents.map(({ id }) => id),
  );
  const params: Param[] = [merchantId, at.toISOString()];
  const rows = documents.map((document) => {
    const own = wordings.get(document.id);
    const [, words, forms] = wordColumns(document, own);
    const [idName, bytes, ...texts] = parametersOf(params, [document.id, bytesOfAll(own), words, forms]);
    return `(cast(${idName} as bigint), cast(${bytes} as bigint), ${texts})`;
  });
  await tx.run(
    `with change (document_id, bytes, new_words, new_word_forms) as (values ${rows})
      update documents set updated_at = $2, words = new_words, word_forms = new_word_forms,
        wordings_bytes = change.bytes
      from change where merchant_id = $1 and id = document_id and id in (select document_id from change)`,
    params,
  );
}

/** Deletes its versions and wordings too. */
export async function deleteDocument(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { author, at }: { author: Author; at: Date },
): Promise<boolean> {
  const [document] = await tx.run<{ id: number; title: string }>(
    'delete from documents where merchant_id = $1 and id = $2 returning id, title',
    [merchantId, id],
  );
  if (!document) return false;
  await tx.run('delete from document_uses where merchant_id = $1 and document_id = $2', [merchantId, id]);
  await recordRemoval(tx, merchantId, document, { what: 'deleted', author, at });
  const data = { document_id: id, change: 'deleted' };
  await logEvents(tx, merchantId, [{ type: 'knowledge.updated', at, notificationId: null, data }]);
  return true;
}
