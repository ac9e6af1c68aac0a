import { authorNameOf } from '../auth/columns.ts';
import { COPIED, DAY_MS, ONLY_IDS, PASSING, plain, STAYS, server, type Table } from '../database/tables.ts';
import { REPLAY_MS } from './idempotency.ts';

const STATISTICS_KEPT = 400 * DAY_MS;

export const NOTIFICATION_TABLES: readonly Table[] = [
  {
    ...plain('idempotency_keys', 'key', 'key fingerprint outcome created_at', PASSING),
    customer: { erase: 'eraseResponses' },
    user: { erase: 'renameInResponses' },
    kept: [{ since: 'created_at', for: REPLAY_MS }],
  },
  {
    ...{ name: 'presences', key: 'user_id notification_id' },
    internal: 'user_id notification_id state open_at typing_at expires_at',
    because: PASSING,
    ...STAYS,
    kept: [{ since: 'expires_at' }],
  },
  {
    ...{ name: 'asks', line: 'ask' },
    exported:
      'id conversation_id reference metadata deliver status expires_at answer answered_by ended_at created_at',
    internal: 'question_key',
    json: 'metadata',
    customer: { rows: 'conversation_id = :whose', erase: 'delete' },
    user: { because: ONLY_IDS, erase: { answered_by: 'rename' } },
    kept: [{ since: 'ended_at', for: 30 * DAY_MS }],
  },
  {
    ...{ name: 'notification_notes', line: 'note' },
    exported: 'id notification_id user_id text mentions created_at',
    json: 'mentions',
    customer: {
      rows: `notification_id in (
        select n.id from notifications n where n.merchant_id = :merchant and n.conversation_id = :whose)`,
      erase: 'with',
    },
    user: { rows: 'user_id = :whose', erase: 'renameInNotes' },
    stores: { row: 200, texts: 'text' },
  },
  {
    ...plain(
      'ungrouped_notifications',
      'notification_id',
      'notification_id user_id key_id created_at',
      COPIED,
    ),
    customer: { erase: 'with' },
    user: { erase: 'stays' },
  },
  {
    // On SQLite it is a full-text index.
    ...plain('inbox_index', 'notification_id', 'notification_id found_by', COPIED),
    postgres: 'table',
    customer: { erase: 'with' },
  },
  {
    ...{ name: 'notifications', line: 'notification' },
    exported:
      'id conversation_id notification_type status outcome context answer answered_by assigned_to created_at updated_at',
    internal:
      'requested_fields answered_fields answer_schema_id answered_by_key undo_until held counted_for_good notes_bytes',
    json: 'context answer',
    as: { answered_by: authorNameOf(':merchant', 'answered_by', 'answered_by_key') },
    customer: { rows: 'conversation_id = :whose', erase: 'eraseNotifications' },
    // What the user answered, or is responsible for.
    user: {
      rows: '(answered_by = :whose or assigned_to = :whose)',
      line: 'answer',
      only: 'id conversation_id status outcome updated_at answer',
      as: { answer: 'case when answered_by = :whose then answer end' },
      erase: 'stays',
    },
    kept: [{ for: 'notifications' }],
    stores: { row: 400, texts: 'context answer' },
  },
  {
    ...plain('inbox_changes', 'seq', 'seq notification_id conversation_id after_id', COPIED),
    customer: { erase: 'stays' },
  },
  {
    ...plain(
      'statistics_quarters',
      'at notification_type',
      'at notification_type asked answered resolved',
      COPIED,
    ),
    kept: [{ since: 'at', for: STATISTICS_KEPT }],
  },
  {
    ...plain('statistics_days', 'day what number', 'day what number count', COPIED),
    kept: [{ since: 'day', for: STATISTICS_KEPT }],
  },
  plain('inboxes', 'merchant_id', 'version bytes pending_bytes presence', COPIED),
  server('answer_schemas', 'id', 'id schema'),
];
