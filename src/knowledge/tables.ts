import { COPIED, DAY_MS, MERCHANTS, plain, type Table } from '../database/tables.ts';

/** Notifications of the customer. A question that was deleted says no longer whose it was. */
const FROM_CUSTOMER = `notification_id in (
  select n.id from notifications n where n.merchant_id = :merchant and n.conversation_id = :whose)`;

export const KNOWLEDGE_TABLES: readonly Table[] = [
  {
    ...{ name: 'answered_questions', key: 'notification_id' },
    internal: 'notification_id question answer words learned document_id document_version',
    postgres: 'found_by',
    because: COPIED,
    customer: { erase: 'with' },
  },
  {
    ...{ name: 'document_wordings', key: 'document_id id', line: 'wording' },
    exported: 'document_id id text created_at',
    internal: 'notification_id user_id key_id',
    merchant: { only: 'document_id id text' },
    customer: { rows: FROM_CUSTOMER, erase: 'redactDocument' },
    user: { rows: 'user_id = :whose', erase: 'stays' },
    stores: { row: 0, texts: 'text' },
  },
  {
    ...{ name: 'document_versions', key: 'document_id version', line: 'document_version' },
    exported: 'document_id version title body what created_at',
    internal: 'user_id key_id notification_id',
    customer: { rows: FROM_CUSTOMER, erase: 'redactDocument' },
    user: { rows: 'user_id = :whose', erase: 'stays' },
    stores: { row: 0, texts: 'title body' },
  },
  {
    ...{ name: 'document_vectors', key: 'document_id' },
    internal: 'document_id model document_version document_updated_at vectors change',
    because: COPIED,
    customer: { erase: 'redactDocument' },
  },
  plain(
    'vector_progress',
    'merchant_id',
    'model complete_version walk_version position lease leased_until change',
    COPIED,
  ),
  {
    ...{ name: 'documents', line: 'document' },
    exported: 'id title body version created_at updated_at',
    internal: 'title_words words word_forms wordings_bytes former_bytes',
    postgres: 'found_by',
    customer: { because: MERCHANTS, erase: 'redactDocument' },
  },
  plain('document_uses', 'document_id', 'document_id day', COPIED),
  {
    ...{ name: 'knowledge_removals', line: 'document_removal' },
    exported: 'id document_id title what user_id key_id at',
    customer: { because: MERCHANTS, erase: { title: 'redact' } },
    user: { rows: 'user_id = :whose', erase: 'stays' },
    kept: [{ since: 'at', for: 90 * DAY_MS }],
  },
  {
    // What the assistant answered by itself, and whether people found it right.
    ...{ name: 'recognitions', line: 'recognition' },
    exported: 'id kind question document_id score notification_id outcome judged_at created_at',
    internal: 'judged_by judged_by_key unjudged_since conversation_id customer_key',
    customer: { rows: `(conversation_id = :whose or ${FROM_CUSTOMER})`, erase: 'redactRecognitions' },
    // Without the customer's question.
    user: { rows: 'judged_by = :whose', only: 'id document_id outcome judged_at', erase: 'stays' },
    kept: [{ since: 'unjudged_since', for: 30 * DAY_MS }],
  },
  plain('confidence', 'merchant_id', 'version reset_at', COPIED),
  plain('live_versions', 'topic', 'topic version bytes deletions', COPIED),
];
