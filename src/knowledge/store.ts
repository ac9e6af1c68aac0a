import { keyNameOf } from '../auth/columns.ts';
import type { Author, MerchantId } from '../contract/ids.ts';
import type { Document, DocumentVersion, VersionReason } from '../contract/knowledge.ts';
import type { Step } from '../database/chain.ts';
import type { Param, Queries, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { logEvents } from '../events/record.ts';
import { collectPage } from '../http/paging.ts';
import { elementsOf, LOCKED } from './fulltext.ts';
import type { Content } from './texts.ts';
import { indexWordsOf, stemsOf } from './words.ts';

const FIELDS = 'id, title, body, version, created_at, updated_at';
/** All versions are kept, but at most this many are returned. */
const VERSIONS_SHOWN_MAX = 50;

/** Why a version was written, and by whom. */
export interface Origin {
  what: VersionReason;
  /** Null for an import. */
  author: Author | null;
  notificationId: number | null;
  at: Date;
}

/** The last document of the previous page. */
export interface Position {
  updatedAt: string;
  id: number;
}

/** Last updated first. */
export function listDocuments(
  queries: Queries,
  merchantId: MerchantId,
  { after, limit }: { after: Position | undefined; limit: number },
): Promise<Document[]> {
  return after
    ? queries.all(
        `select ${FIELDS} from documents where merchant_id = $1 and (updated_at, id) < ($3, $4)
          order by updated_at desc, id desc limit $2`,
        [merchantId, limit, after.updatedAt, after.id],
      )
    : queries.all(
        `select ${FIELDS} from documents where merchant_id = $1
          order by updated_at desc, id desc limit $2`,
        [merchantId, limit],
      );
}

/** For an export: by id, so that no document is missed or repeated if others change in between. */
export function listDocumentsById(
  queries: Queries,
  merchantId: MerchantId,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<Document[]> {
  return queries.all(
    `select ${FIELDS} from documents where merchant_id = $1 and id > $2 order by id limit $3`,
    [merchantId, afterId, limit],
  );
}

/** In the order of the given ids. */
export async function findDocuments(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<Document[]> {
  if (ids.length === 0) return [];
  const rows = await queries.all<Document>(
    `select ${FIELDS} from documents where ${ownIdIn(queries.engine, '$1', '$2')}`,
    [merchantId, ids],
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

export function findDocument(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<Document | undefined> {
  return queries.one(`select ${FIELDS} from documents where merchant_id = $1 and id = $2`, [merchantId, id]);
}

/** Newest first, and fewer if they are long. */
export async function listVersions(
  queries: Queries,
  merchantId: MerchantId,
  { id, version }: Document,
): Promise<DocumentVersion[]> {
  const { rows } = await collectPage<DocumentVersion>(
    VERSIONS_SHOWN_MAX,
    ({ title, body }) => title.length + body.length,
    (last, atMost) =>
      queries.all(
        `select v.version, v.what, v.title, v.body, v.user_id,
          coalesce(u.name, ${keyNameOf('v.merchant_id', 'v.key_id')}) as user_name, v.notification_id, v.created_at
          from document_versions v left join users u on u.id = v.user_id
          where v.merchant_id = $1 and v.document_id = $2 and v.version < $3
          order by v.version desc limit $4`,
        // Leaves out versions that were written after the document was read.
        [merchantId, id, last?.version ?? version + 1, atMost],
      ),
  );
  return rows;
}

export async function createDocument(
  tx: Queries,
  merchantId: MerchantId,
  content: Content,
  origin: Origin,
): Promise<Document> {
  const [document] = await createDocuments(tx, merchantId, [content], origin);
  return document!;
}

/** Adds documents, each with its first version. */
export async function createDocuments(
  tx: Queries,
  merchantId: MerchantId,
  contents: readonly Content[],
  origin: Origin,
): Promise<Document[]> {
  const params: Param[] = [merchantId, origin.at.toISOString()];
  const rows = contents.map((content) => {
    const [title, body, ...words] = parametersOf(params, [
      content.title,
      content.body,
      ...wordColumns(content),
    ]);
    return `($1, ${title}, ${body}, $2, $2, ${words})`;
  });
  const documents = await tx.run<Document>(
    `insert into documents (merchant_id, title, body, created_at, updated_at, title_words, words, word_forms)
      values ${rows} returning ${FIELDS}`,
    params,
  );
  await insertVersions(tx, merchantId, documents, origin);
  await logChange(tx, merchantId, documents, 'created', origin);
  return documents;
}

/** Programs hear of each document, but only of the number in an import. */
function logChange(
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

/** Adds values to the parameters of a statement. Returns how the statement names them. */
const parametersOf = (params: Param[], values: readonly Param[]): string[] =>
  values.map((value) => `$${params.push(value)}`);

/**
 * A document from an answer, and its first version, if the step `after` is `returning` the merchant and id of the
 * notification.
 */
export const createDocumentSteps = (
  merchantId: MerchantId,
  content: Content,
  { what, author, notificationId, at }: Origin,
  after: string,
): Step[] => {
  const [titleWords, words, wordForms] = wordColumns(content);
  return [
    {
      name: 'document',
      rows: {
        newIdsOf: 'documents',
        columns: {
          merchant_id: 'bigint',
          title: 'text',
          body: 'text',
          title_words: 'text',
          words: 'text',
          word_forms: 'text',
          what: 'text',
          user_id: 'bigint',
          key_id: 'bigint',
          notification_id: 'bigint',
          at: 'text',
        },
        values: [
          {
            merchant_id: merchantId,
            ...content,
            title_words: titleWords,
            words,
            word_forms: wordForms,
            what,
            user_id: author?.userId ?? null,
            key_id: author?.keyId ?? null,
            notification_id: notificationId,
            at: at.toISOString(),
          },
        ],
      },
      sql: `insert into documents (id, merchant_id, title, body, created_at, updated_at, title_words, words, word_forms)
        select r.id, r.merchant_id, r.title, r.body, r.at, r.at, r.title_words, r.words, r.word_forms
          from document_rows r join ${after} a on a.merchant_id = r.merchant_id and a.id = r.notification_id
        returning merchant_id, id, version, created_at`,
    },
    {
      name: 'document_version',
      sql: `insert into document_versions (merchant_id, document_id, version, title, body, what, user_id,
          key_id, notification_id, created_at)
        select d.merchant_id, d.id, d.version, r.title, r.body, r.what,
          (select u.id from users u where u.id = r.user_id), r.key_id, r.notification_id, r.at
          from document d join document_rows r on r.merchant_id = d.merchant_id and r.id = d.id
        returning document_id`,
    },
  ];
};

/** The event of `createDocumentSteps`, for `logStep`. */
export const DOCUMENT_CREATED = `select d.merchant_id, 'knowledge.updated', d.created_at, cast(null as bigint),
    concat('{"document_id":', d.id, ',"change":"created"}'), cast(null as text) from document d`;

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
  const current = await tx.one<Document>(
    `select ${FIELDS} from documents where merchant_id = $1 and id = $2 ${LOCKED[tx.engine]}`,
    [merchantId, id],
  );
  if (!current) return undefined;
  const content = await decide(current);
  if (isSame(current, content)) return current;
  const [document] = await writeVersions(tx, merchantId, [{ id, content }], origin);
  return document;
}

/** The same content makes no new version. */
export const isSame = (current: Document, { title, body }: Content) =>
  title === current.title && body === current.body;

/** Writes the next version of documents that the caller has locked. */
export async function writeVersions(
  tx: Queries,
  merchantId: MerchantId,
  changes: readonly { id: number; content: Content }[],
  origin: Origin,
): Promise<Document[]> {
  const params: Param[] = [merchantId, origin.at.toISOString()];
  const rows = changes.map(({ id, content }) => {
    const [idName, ...texts] = parametersOf(params, [
      id,
      content.title,
      content.body,
      ...wordColumns(content),
    ]);
    return `(cast(${idName} as bigint), ${texts})`;
  });
  const documents = await tx.run<Document>(
    `with change (document_id, new_title, new_body, new_title_words, new_words, new_word_forms) as (values ${rows})
      update documents set title = new_title, body = new_body, updated_at = $2, version = version + 1,
        title_words = new_title_words, words = new_words, word_forms = new_word_forms
      from change where merchant_id = $1 and id = document_id and id in (select document_id from change)
      returning ${FIELDS}`,
    // Without the sub-select SQLite joins the other way round and reads all of the merchant's documents.
    params,
  );
  await insertVersions(tx, merchantId, documents, origin);
  await logChange(tx, merchantId, documents, 'changed', origin);
  return documents;
}

/** A token may outlive its user: then the version has no author. */
async function insertVersions(
  tx: Queries,
  merchantId: MerchantId,
  documents: readonly Document[],
  { what, author, notificationId, at }: Origin,
): Promise<void> {
  const params: Param[] = [
    merchantId,
    what,
    author?.userId ?? null,
    notificationId,
    at.toISOString(),
    author?.keyId ?? null,
  ];
  const rows = documents.map(({ id, version, title, body }) => {
    const [idName, ...rest] = parametersOf(params, [id, version, title, body]);
    return `($1, ${idName}, ${rest}, $2, (select u.id from users u where u.id = $3), $4, $5, $6)`;
  });
  await tx.run(
    `insert into document_versions (merchant_id, document_id, version, title, body, what, user_id, notification_id,
      created_at, key_id) values ${rows}`,
    params,
  );
}

const wordColumns = ({ title, body }: Content): [titleWords: string, words: string, forms: string] => {
  const { stems, forms } = indexWordsOf(`${title}\n${body}`);
  return [stemsOf(title).join(' '), stems.join(' '), forms.join(' ')];
};

/** The content of the previous version. */
export function findEarlierContent(
  queries: Queries,
  merchantId: MerchantId,
  { id, version }: Document,
): Promise<Content | undefined> {
  return queries.one(
    `select title, body from document_versions where merchant_id = $1 and document_id = $2 and version = $3`,
    [merchantId, id, version - 1],
  );
}

/**
 * The merchant's documents with these titles, by title; if several have the same title, the last updated. They are
 * locked in the order of their ids, all before the caller's first write: a write also locks the row of `live_versions`,
 * and a transaction that holds that row must not wait for a document.
 */
export async function lockDocumentsByTitle(
  tx: Queries,
  merchantId: MerchantId,
  titles: readonly string[],
): Promise<Map<string, Document>> {
  const found = await tx.all<{ id: number | null }>(
    `select (select id from documents where merchant_id = $1 and title = wanted.value
        order by updated_at desc, id desc limit 1) as id
      from ${elementsOf(tx.engine, '$2')} wanted`,
    [merchantId, JSON.stringify(titles)],
  );
  const rows = await tx.all<Document>(
    `select ${FIELDS} from documents where ${ownIdIn(tx.engine, '$1', '$2')}
      order by id ${LOCKED[tx.engine]}`,
    [merchantId, found.flatMap(({ id }) => id ?? [])],
  );
  // An edit may have changed a title in between: leave that document out.
  return new Map(rows.map((row) => [row.title, row]));
}

/** Deletes its versions too. */
export async function deleteDocument(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<boolean> {
  const rows = await tx.run('delete from documents where merchant_id = $1 and id = $2 returning id', [
    merchantId,
    id,
  ]);
  if (rows.length === 0) return false;
  const data = { document_id: id, change: 'deleted' };
  await logEvents(tx, merchantId, [{ type: 'knowledge.updated', at, notificationId: null, data }]);
  return true;
}
