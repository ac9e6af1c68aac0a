import { authorNameOf } from '../auth/columns.ts';
import { COPIED, DAY_MS, ONLY_IDS, PASSING, type Table } from '../database/tables.ts';
import { REPLAY_MS } from './idempotency.ts';

const STATISTICS_KEPT_MS = 400 * DAY_MS;
const AUTHOR = { answered_by: authorNameOf(':merchant', 'answered_by', 'answered_by_key') };
const WITH_NOTIFICATION = { because: COPIED, erase: 'with' } as const;

export const NOTIFICATION_TABLES: readonly Table[] = [
  {
    name: 'idempotency_keys',
    key: 'key',
    internal: 'merchant_id key fingerprint outcome created_at',
    because: PASSING,
    customer: { erase: 'eraseResponses' },
    user: { erase: 'renameInResponses' },
    kept: [{ since: 'created_at', for: REPLAY_MS }],
  },
  {
    name: 'presences',
    key: 'user_id notification_id',
    internal: 'merchant_id user_id notification_id state open_at typing_at expires_at',
    because: PASSING,
    customer: { erase: 'stays' },
    user: { erase: 'stays' },
    kept: [{ since: 'expires_at' }],
  },
  {
    // The id is that of its notification.
    name: 'asks',
    exported:
      'id conversation_id reference metadata deliver status expires_at answer answered_by ended_at created_at',
    internal: 'merchant_id question_key',
    json: 'metadata',
    merchant: { line: 'ask' },
    customer: { line: 'ask', rows: 'conversation_id = :whose', erase: 'delete' },
    because: ONLY_IDS,
    user: { erase: { answered_by: 'rename' } },
    kept: [{ since: 'ended_at', for: 30 * DAY_MS }],
  },
  {
    name: 'notification_notes',
    exported: 'id notification_id user_id text mentions created_at',
    internal: 'merchant_id',
    json: 'mentions',
    merchant: { line: 'note' },
    customer: {
      line: 'note',
      rows: `notification_id in (
        select n.id from notifications n where n.merchant_id = :merchant and n.conversation_id = :whose)`,
      erase: 'with',
    },
    user: { line: 'note', rows: 'user_id = :whose', erase: 'renameInNotes' },
    stores: { row: 200, texts: 'text' },
  },
  {
    name: 'ungrouped_notifications',
    key: 'notification_id',
    internal: 'merchant_id notification_id user_id key_id created_at',
    because: COPIED,
    customer: { erase: 'with' },
    user: { erase: 'stays' },
  },
  {
    name: 'answered_questions',
    key: 'notification_id',
    internal: 'merchant_id notification_id question answer words learned document_id document_version',
    because: COPIED,
    customer: WITH_NOTIFICATION,
    postgres: 'found_by',
  },
  {
    // On SQLite it is a full-text index.
    name: 'inbox_index',
    key: 'notification_id',
    internal: 'merchant_id notification_id found_by',
    because: COPIED,
    customer: WITH_NOTIFICATION,
    postgres: 'table',
  },
  {
    name: 'notifications',
    exported:
      'id conversation_id notification_type status outcome context answer answered_by assigned_to created_at updated_at',
    internal:
      'merchant_id requested_fields answered_fields answer_schema_id answered_by_key undo_until held counted_for_good notes_bytes',
    json: 'context answer',
    merchant: { line: 'notification', as: AUTHOR },
    customer: {
      line: 'notification',
      rows: 'conversation_id = :whose',
      as: AUTHOR,
      erase: 'eraseNotifications',
    },
    // What the user answered, or is responsible for.
    user: {
      line: 'answer',
      rows: '(answered_by = :whose or assigned_to = :whose)',
      only: 'id conversation_id status outcome updated_at answer',
      as: { answer: 'case when answered_by = :whose then answer end' },
      erase: 'stays',
    },
    kept: [{ for: 'notifications' }],
    stores: { row: 400, texts: 'context answer' },
  },
  {
    name: 'inbox_changes',
    key: 'seq',
    internal: 'merchant_id seq notification_id conversation_id after_id',
    because: COPIED,
    customer: { erase: 'stays' },
  },
  {
    name: 'statistics_quarters',
    key: 'at notification_type',
    internal: 'merchant_id at notification_type asked answered resolved',
    because: COPIED,
    kept: [{ since: 'at', for: STATISTICS_KEPT_MS }],
  },
  {
    name: 'statistics_days',
    key: 'day what number',
    internal: 'merchant_id day what number count',
    because: COPIED,
    kept: [{ since: 'day', for: STATISTICS_KEPT_MS }],
  },
  {
    name: 'inboxes',
    key: 'merchant_id',
    internal: 'merchant_id version bytes pending_bytes presence',
    because: COPIED,
  },
  { name: 'answer_schemas', of: 'server', internal: 'id schema' },
];
