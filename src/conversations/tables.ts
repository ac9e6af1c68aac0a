import { COPIED, MERCHANTS, ONLY_IDS, type Table } from '../database/tables.ts';
import { CONVERSATION_BYTES, freeBytes } from './storage.ts';

export const CONVERSATION_MESSAGES: Table = {
  name: 'conversation_messages',
  exported: 'id conversation_id sender message_id text at',
  internal: 'merchant_id created_at',
  merchant: { line: 'message' },
  customer: { line: 'message', rows: 'conversation_id = :whose', erase: 'delete' },
  kept: [{ since: 'created_at', for: 'messages' }],
  stores: { row: 200, texts: 'text message_id', free: freeBytes },
};

export const CONVERSATIONS: Table = {
  name: 'conversations',
  exported: 'id reference customer_name customer_phone taken_over_at taken_over_by created_at updated_at',
  internal: 'merchant_id erased_at',
  where: 'erased_at is null',
  merchant: { line: 'conversation' },
  because: ONLY_IDS,
  customer: {
    ...{ line: 'conversation', rows: 'id = :whose' },
    erase: {
      ...{ reference: null, customer_name: '', customer_phone: '', taken_over_at: null },
      taken_over_by: null,
    },
  },
  user: { erase: { taken_over_by: 'rename' } },
  stores: { row: CONVERSATION_BYTES, texts: '', free: freeBytes },
};

export const CONVERSATION_TABLES: readonly Table[] = [
  CONVERSATION_MESSAGES,
  {
    name: 'wrong_phones',
    key: 'conversation_id phone',
    exported: 'conversation_id phone replaced_by created_at',
    internal: 'merchant_id',
    merchant: { line: 'wrong_phone' },
    customer: { line: 'wrong_phone', rows: 'conversation_id = :whose', erase: 'delete' },
  },
  CONVERSATIONS,
  {
    name: 'conversation_storage',
    key: 'merchant_id',
    internal: 'merchant_id bytes version',
    because: COPIED,
  },
  {
    name: 'saved_replies',
    exported: 'id title text created_at updated_at',
    internal: 'merchant_id',
    merchant: { line: 'saved_reply' },
    because: MERCHANTS,
    customer: { erase: { title: 'redact', text: 'redact' } },
  },
];
