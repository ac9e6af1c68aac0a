import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordEvent, SERVER, type Who } from '../audit/record.ts';
import { disableTeam } from '../auth/erase.ts';
import type { MerchantId } from '../contract/ids.ts';
import { phonesOf } from '../conversations/erase.ts';
import type { Database, Engine, Reads, Transaction } from '../database/database.ts';
import { deleteByKey, primaryKeyOf } from '../database/spread/deleteByKey.ts';
import { haveWritten, removeStopsOf } from '../delivery/erase.ts';
import { blankMerchant, type Deleting, markDeleting, removeMerchant } from '../merchants/delete.ts';
import { AGAIN_AFTER_MS } from './erase.ts';
import { BATCH_MAX } from './store.ts';
import { type ChannelsOf, END_OF_TIME, forgetOwnWindows } from './windows.ts';

/**
 * Every table with a merchant's rows, in the order in which they are emptied: first what is still to be sent, then what
 * others refer to. A new table of merchants is an entry here.
 */
export const MERCHANT_TABLES = [
  ...['delivery_queues', 'deliveries', 'delivery_events', 'mails', 'webhook_endpoints', 'push_subscriptions'],
  ...['alert_settings', 'alert_logs', 'new_events', 'events', 'event_logs', 'simulator_messages'],
  ...['reached_customers', 'idempotency_keys', 'presences'],
  ...['asks', 'notification_notes', 'ungrouped_notifications', 'answered_questions', 'notifications'],
  ...['inbox_changes', 'conversation_messages', 'wrong_phones', 'conversations', 'conversation_storage'],
  // After the customers: they say in which channels their numbers are known.
  ...['channel_settings', 'former_channels'],
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
  channelsOf: ChannelsOf;
  now: () => Date;
  isStopped: () => boolean;
  onRemoved?: (table: string, count: number) => void;
}

/** Then others have their turn. */
const BATCHES_MAX = 20;

/**
 * Removes some rows of a merchant that is being deleted: `more` if there are others, `later` if another process does it
 * or something must end before.
 */
export async function deleteSome(
  parts: DeletionParts,
  { id: merchantId, deleting_at: since }: Deleting,
): Promise<'more' | 'later' | 'gone'> {
  const { database, now, isStopped } = parts;
  let batches = 0;
  for (const table of OWN_TABLES[database.engine]) {
    for (let count = BATCH_MAX; count === BATCH_MAX; await nextTurn()) {
      if (isStopped()) return 'later';
      const removed = await removeBatch(parts, merchantId, table);
      // Another worker is working on it.
      if (removed === undefined) return 'later';
      count = removed;
      parts.onRemoved?.(table, count);
      if (count > 0 && ++batches === BATCHES_MAX) return 'more';
    }
  }
  // A request that began before may still write something.
  if (now().getTime() < Date.parse(since) + AGAIN_AFTER_MS) return 'later';
  const isEmpty = await database.transaction(async (tx) => {
    if (!(await tx.tryLock(lockName(merchantId)))) return false;
    for (const table of OWN_TABLES[tx.engine])
      await tx.run(`delete from ${table} where merchant_id = $1`, [merchantId]);
    await removeStopsOf(tx, merchantId);
    await blankMerchant(tx, merchantId);
    return true;
  });
  // The row stays until nobody can read the others in the files: it says that this is still to be done.
  if (!isEmpty || !(await database.scrub())) return 'later';
  const isGone = await database.transaction(async (tx) => {
    if (!(await removeMerchant(tx, merchantId))) return false;
    await recordEvent(tx, {
      what: 'merchant.deleted',
      ...{ merchantId: null, who: SERVER, at: now(), about: { merchant_id: merchantId } },
    });
    return true;
  });
  return isGone ? 'gone' : 'later';
}

const lockName = (merchantId: MerchantId) => `delete merchant ${merchantId}`;

async function batchSql(queries: Reads, table: string): Promise<string> {
  if (queries.isSpread) {
    const key = await primaryKeyOf(queries, table);
    return `${deleteByKey(table, key, { limit: BATCH_MAX })} returning merchant_id`;
  }
  const rows = (row: string) => `select ${row} from ${table} where merchant_id = $1 limit ${BATCH_MAX}`;
  return queries.engine === 'sqlite'
    ? `delete from ${table} where rowid in (${rows('rowid')}) returning merchant_id`
    : `delete from ${table} where ctid = any(array(${rows('ctid')})) and merchant_id = $1 returning merchant_id`;
}

/** Undefined if another process removes this merchant. */
async function removeBatch(
  { database, channelsOf }: DeletionParts,
  merchantId: MerchantId,
  table: string,
): Promise<number | undefined> {
  // First, because their rows are the only ones that say which numbers are to be forgotten.
  if (table === 'conversations') {
    const phones = await phonesOf(database, merchantId, BATCH_MAX);
    for (const phone of await haveWritten(database, phones))
      await forgetOwnWindows({ database, channelsOf }, merchantId, { phone, until: END_OF_TIME });
  }
  return database.transaction(async (tx) => {
    if (!(await tx.tryLock(lockName(merchantId)))) return undefined;
    return (await tx.run(await batchSql(tx, table), [merchantId])).length;
  });
}
