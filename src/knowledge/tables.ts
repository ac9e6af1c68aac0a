import { COPIED, DAY_MS, MERCHANTS, type Table } from '../database/tables.ts';

/** Notifications of the customer. A question that was deleted says no longer whose it was. */
const FROM_CUSTOMER = `notification_id in (
  select n.id from notifications n where n.merchant_id = :merchant and n.conversation_id = :whose)`;

export const KNOWLEDGE_TABLES: readonly Table[] = [
  {
    name: 'document_wordings',
    key: 'document_id id',
    exported: 'document_id id text created_at',
    internal: 'merchant_id notification_id user_id key_id',
    merchant: { line: 'wording', only: 'document_id id text' },
    customer: { line: 'wording', rows: FROM_CUSTOMER, erase: 'eraseDocuments' },
    user: { line: 'wording', rows: 'user_id = :whose', erase: 'stays' },
    stores: { row: 0, texts: 'text' },
  },
  {
    name: 'document_versions',
    key: 'document_id version',
    exported: 'document_id version title body what created_at',
    internal: 'merchant_id user_id key_id notification_id',
    merchant: { line: 'document_version' },
    customer: { line: 'document_version', rows: FROM_CUSTOMER, erase: 'eraseDocuments' },
    user: { line: 'document_version', rows: 'user_id = :whose', erase: 'stays' },
    stores: { row: 0, texts: 'title body' },
  },
  {
    name: 'document_vectors',
    key: 'document_id',
    internal: 'merchant_id document_id model document_version document_updated_at vectors change',
    because: COPIED,
    customer: { erase: 'eraseDocuments' },
  },
  {
    name: 'vector_progress',
    key: 'merchant_id',
    internal: 'merchant_id model complete_version walk_version position lease leased_until change',
    because: COPIED,
  },
  {
    name: 'documents',
    exported: 'id title body version created_at updated_at',
    internal: 'merchant_id title_words words word_forms wordings_bytes former_bytes',
    merchant: { line: 'document' },
    because: MERCHANTS,
    customer: { erase: 'eraseDocuments' },
    postgres: 'found_by',
  },
  { name: 'document_uses', key: 'document_id', internal: 'merchant_id document_id day', because: COPIED },
  {
    name: 'knowledge_removals',
    exported: 'id document_id title what user_id key_id at',
    internal: 'merchant_id',
    merchant: { line: 'document_removal' },
    because: MERCHANTS,
    customer: { erase: { title: 'redact' } },
    user: { line: 'document_removal', rows: 'user_id = :whose', erase: 'stays' },
    kept: [{ since: 'at', for: 90 * DAY_MS }],
  },
  {
    // What the assistant answered by itself, and whether people found it right.
    name: 'recognitions',
    exported: 'id kind question document_id score notification_id outcome judged_at created_at',
    internal: 'merchant_id judged_by judged_by_key unjudged_since conversation_id customer_key',
    merchant: { line: 'recognition' },
    customer: {
      line: 'recognition',
      rows: `(conversation_id = :whose or ${FROM_CUSTOMER})`,
      erase: 'eraseRecognitions',
    },
    // Without the customer's question.
    user: {
      line: 'recognition',
      rows: 'judged_by = :whose',
      only: 'id document_id outcome judged_at',
      erase: 'stays',
    },
    kept: [{ since: 'unjudged_since', for: 30 * DAY_MS }],
  },
  { name: 'confidence', key: 'merchant_id', internal: 'merchant_id version reset_at', because: COPIED },
  {
    name: 'live_versions',
    key: 'topic',
    internal: 'merchant_id topic version bytes deletions',
    because: COPIED,
  },
];
