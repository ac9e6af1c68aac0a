import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordEvent, SERVER, type Who } from '../audit/record.ts';
import { disableTeam } from '../auth/leave.ts';
import type { MerchantId } from '../contract/ids.ts';
import { phonesOf } from '../conversations/person.ts';
import type { Database, Engine, Transaction } from '../database/database.ts';
import { deleteBatch } from '../database/deleteBatch.ts';
import { hasMerchant, type Table } from '../database/tables.ts';
import { haveWritten, removeStopsOf } from '../delivery/queue/ofPerson.ts';
import { blankMerchant, type Deleting, markDeleting, removeMerchant } from '../merchants/delete.ts';
import { TABLES } from '../tables.ts';
import { AGAIN_AFTER_MS } from './erase.ts';
import { BATCH_MAX } from './store.ts';
import { type ChannelsOf, END_OF_TIME, forgetOwnWindows } from './windows.ts';

/** The tables with a merchant's rows, in the order in which they are emptied. With SQLite, one is kept by a trigger. */
const ownTables = (engine: Engine): Table[] =>
  TABLES.filter((table) => hasMerchant(table) && (engine === 'postgres' || table.postgres !== 'table'));

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
  for (const table of ownTables(database.engine)) {
    for (let count = BATCH_MAX; count === BATCH_MAX; await nextTurn()) {
      if (isStopped()) return 'later';
      const removed = await removeBatch(parts, merchantId, table);
      // Another worker is working on it.
      if (removed === undefined) return 'later';
      count = removed;
      parts.onRemoved?.(table.name, count);
      if (count > 0 && ++batches === BATCHES_MAX) return 'more';
    }
  }
  // A request that began before may still write something.
  if (now().getTime() < Date.parse(since) + AGAIN_AFTER_MS) return 'later';
  const isEmpty = await database.transaction(async (tx) => {
    if (!(await tx.tryLock(lockName(merchantId)))) return false;
    for (const { name } of ownTables(tx.engine))
      await tx.run(`delete from ${name} where merchant_id = $1`, [merchantId]);
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

/** Undefined if another process removes this merchant. */
async function removeBatch(
  { database, channelsOf }: DeletionParts,
  merchantId: MerchantId,
  table: Table,
): Promise<number | undefined> {
  // First, because their rows are the only ones that say which numbers are to be forgotten.
  if (table.name === 'conversations') {
    const phones = await phonesOf(database, merchantId, BATCH_MAX);
    for (const phone of await haveWritten(database, phones))
      await forgetOwnWindows({ database, channelsOf }, merchantId, { phone, until: END_OF_TIME });
  }
  return database.transaction(async (tx) => {
    if (!(await tx.tryLock(lockName(merchantId)))) return undefined;
    return deleteBatch(tx, table, merchantId, { limit: BATCH_MAX });
  });
}
