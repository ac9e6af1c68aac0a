import type { MerchantId } from '../../contract/ids.ts';
import { defineInsert, type Insert } from '../../database/chain.ts';
import type { NewEvent } from '../../events/record.ts';
import { wordColumns } from './columns.ts';
import type { Content } from './texts.ts';
import type { Origin } from './versions.ts';

/** A document from an answer, and its first version. */
export function createDocumentSteps(
  merchantId: MerchantId,
  id: number,
  content: Content,
  { what, author, notificationId, at }: Origin,
): Insert[] {
  const [titleWords, words, wordForms] = wordColumns(content);
  const time = at.toISOString();
  return [
    {
      shape: DOCUMENT,
      values: [
        {
          ...{ id, merchant_id: merchantId, ...content, created_at: time, updated_at: time },
          ...{ title_words: titleWords, words, word_forms: wordForms },
        },
      ],
    },
    {
      shape: VERSION,
      values: [
        {
          ...{ merchant_id: merchantId, document_id: id, version: 1, ...content, what },
          ...{ user_id: author?.userId ?? null, key_id: author?.keyId ?? null },
          ...{ notification_id: notificationId, created_at: time },
        },
      ],
    },
  ];
}

export const documentCreated = (id: number, at: Date): NewEvent => ({
  type: 'knowledge.updated',
  at,
  notificationId: null,
  data: { document_id: id, change: 'created' },
});

const DOCUMENT = defineInsert({
  table: 'documents',
  columns: {
    id: 'bigint',
    merchant_id: 'bigint',
    title: 'text',
    body: 'text',
    created_at: 'text',
    updated_at: 'text',
    title_words: 'text',
    words: 'text',
    word_forms: 'text',
  },
});

const VERSION = defineInsert({
  table: 'document_versions',
  columns: {
    merchant_id: 'bigint',
    document_id: 'bigint',
    version: 'integer',
    title: 'text',
    body: 'text',
    what: 'text',
    user_id: 'bigint',
    key_id: 'bigint',
    notification_id: 'bigint',
    created_at: 'text',
  },
});
