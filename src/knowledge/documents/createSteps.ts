import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import { wordColumns } from './columns.ts';
import type { Content } from './texts.ts';
import type { Origin } from './versions.ts';

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
