import { COPIED, MERCHANTS, ONLY_IDS, plain, type Table } from '../database/tables.ts';
import { CONVERSATION_BYTES, freeBytes } from './storage.ts';

export const CONVERSATION_MESSAGES: Table = {
  ...{ name: 'conversation_messages', line: 'message' },
  exported: 'id conversation_id sender message_id text at',
  internal: 'created_at',
  customer: { rows: 'conversation_id = :whose', erase: 'delete' },
  kept: [{ since: 'created_at', for: 'messages' }],
  stores: { row: 200, texts: 'text message_id', free: freeBytes },
};

export const CONVERSATIONS: Table = {
  ...{ name: 'conversations', line: 'conversation' },
  exported: 'id reference customer_name customer_phone taken_over_at taken_over_by created_at updated_at',
  internal: 'erased_at',
  where: 'erased_at is null',
  customer: {
    rows: 'id = :whose',
    erase: {
      ...{ reference: null, customer_name: '', customer_phone: '' },
      ...{ taken_over_at: null, taken_over_by: null },
    },
  },
  user: { because: ONLY_IDS, erase: { taken_over_by: 'rename' } },
  stores: { row: CONVERSATION_BYTES, texts: '', free: freeBytes },
};

export const CONVERSATION_TABLES: readonly Table[] = [
  CONVERSATION_MESSAGES,
  {
    ...{ name: 'wrong_phones', key: 'conversation_id phone', line: 'wrong_phone' },
    exported: 'conversation_id phone replaced_by created_at',
    customer: { rows: 'conversation_id = :whose', erase: 'delete' },
  },
  CONVERSATIONS,
  plain('conversation_storage', 'merchant_id', 'bytes version', COPIED),
  {
    ...{ name: 'saved_replies', line: 'saved_reply' },
    exported: 'id title text created_at updated_at',
    customer: { because: MERCHANTS, erase: { title: 'redact', text: 'redact' } },
  },
];
