import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordEvent, SERVER, type Who } from '../audit/record.ts';
import { disableTeam } from '../auth/erase.ts';
import type { MerchantId } from '../contract/ids.ts';
import { isOthersPhone } from '../conversations/erase.ts';
import type { Database, Engine, Transaction } from '../database/database.ts';
import { forgetWindows, removeStopsOf } from '../delivery/erase.ts';
import { findDeleting, markDeleting, removeMerchant } from '../merchants/delete.ts';
import { AGAIN_AFTER_MS } from './erase.ts';

/**
 * Every table with a merchant's rows, in the order in which they are emptied: first what is still to be sent, then what
 * others refer to. A new table of merchants is an entry here.
 */
export const MERCHANT_TABLES = [
  ...['delivery_queues', 'deliveries', 'delivery_events', 'mails', 'webhook_endpoints', 'push_subscriptions'],
  ...['alert_settings', 'alert_logs', 'new_events', 'events', 'event_logs', 'simulator_messages'],
  ...['reached_customers', 'channel_settings', 'former_channels', 'idempotency_keys', 'presences'],
  ...['asks', 'notification_notes', 'ungrouped_notifications', 'answered_questions', 'notifications'],
  ...['inbox_changes', 'conversation_messages', 'wrong_phones', 'conversations', 'conversation_storage'],
  ...['saved_replies', 'document_wordings', 'document_versions', 'document_vectors', 'vector_progress'],
  ...['documents', 'document_uses', 'knowledge_removals', 'recognitions', 'confidence', 'live_versions'],
  ...['statistics_quarters', 'statistics_days', 'inboxes', 'machine_keys', 'invites', 'users', 'erasures'],
  'audit_events',
] as const;

/** With PostgreSQL it is a table, with SQLite a trigger keeps it. */
const OWN_TABLES: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: MERCHANT_TABLES,
  postgres: ['inbox_index', ...MERCHANT_TABLES],
};

/** In one transaction. */
const BATCH_MAX = 500;

/** From now on nobody can sign in, no key works, and nothing is sent. False if there is no such merchant. */
export async function beginDeletion(
  tx: Transaction,
  merchantId: MerchantId,
  { who, at }: { who: Who; at: Date },
): Promise<boolean> {
  if (!(await markDeleting(tx, merchantId, at))) return false;
  await disableTeam(tx, merchantId, at);
  await recordEvent(tx, {
    what: 'merchant.deletion_started',
    ...{ merchantId: null, who, at, about: { merchant_id: merchantId } },
  });
  return true;
}

interface DeletionParts {
  database: Database;
  now: () => Date;
  isStopped: () => boolean;
  /** Only this one. */
  merchantId?: MerchantId;
  onRemoved?: (table: string, count: number) => void;
}

/** Removes a merchant that is being deleted. Returns whether it is gone; there may be others then. */
export async function deleteDueMerchant(parts: DeletionParts): Promise<boolean> {
  const { database, now, isStopped } = parts;
  const due = await findDeleting(database, parts.merchantId);
  if (!due) return false;
  const merchantId = due.id;
  for (const table of OWN_TABLES[database.engine]) {
    for (let count = BATCH_MAX; count === BATCH_MAX; await nextTurn()) {
      if (isStopped()) return false;
      const removed = await removeBatch(database, merchantId, table);
      // Another worker is working on it.
      if (removed === undefined) return false;
      count = removed;
      parts.onRemoved?.(table, count);
    }
  }
  // A request that began before may still write something.
  if (now().getTime() < Date.parse(due.deleting_at) + AGAIN_AFTER_MS) return false;
  const isGone = await database.transaction(async (tx) => {
    if (!(await tx.tryLock(lockName(merchantId)))) return false;
    for (const table of OWN_TABLES[tx.engine])
      await tx.run(`delete from ${table} where merchant_id = $1`, [merchantId]);
    await removeStopsOf(tx, merchantId);
    if (!(await removeMerchant(tx, merchantId))) return false;
    await recordEvent(tx, {
      what: 'merchant.deleted',
      ...{ merchantId: null, who: SERVER, at: now(), about: { merchant_id: merchantId } },
    });
    return true;
  });
  if (isGone) await database.scrub();
  return isGone;
}

const lockName = (merchantId: MerchantId) => `delete merchant ${merchantId}`;

const batchSql = (engine: Engine, table: string, returned: string) => {
  const rows = (row: string) => `select ${row} from ${table} where merchant_id = $1 limit ${BATCH_MAX}`;
  return engine === 'sqlite'
    ? `delete from ${table} where rowid in (${rows('rowid')}) returning ${returned}`
    : `delete from ${table} where ctid = any(array(${rows('ctid')})) and merchant_id = $1 returning ${returned}`;
};

/** Undefined if another process removes this merchant. */
function removeBatch(database: Database, merchantId: MerchantId, table: string): Promise<number | undefined> {
  return database.transaction(async (tx) => {
    if (!(await tx.tryLock(lockName(merchantId)))) return undefined;
    const returned = table === 'conversations' ? 'customer_phone as phone' : `'' as phone`;
    const rows = await tx.run<{ phone: string }>(batchSql(tx.engine, table, returned), [merchantId]);
    for (const phone of new Set(rows.map((row) => row.phone)))
      if (phone !== '' && !(await isOthersPhone(tx, phone))) await forgetWindows(tx, phone, []);
    return rows.length;
  });
}
