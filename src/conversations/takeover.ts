import { findAuthor } from '../auth/columns.ts';
import type { Author, MerchantId } from '../contract/ids.ts';
import type { Transaction } from '../database/database.ts';
import { logEvents } from '../events/record.ts';
import { renewVersion } from './storage.ts';

/** A person speaks to the customer instead of the assistant, until the conversation is handed back. */

interface Change {
  author: Author;
  at: Date;
}

/** Returns whether it changed something. Whoever was first stays the one who has it. */
export async function takeOver(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { author, at }: Change,
): Promise<boolean> {
  const rows = await tx.run<{ reference: string | null }>(
    `update conversations set taken_over_at = $3, taken_over_by = $4
      where merchant_id = $1 and id = $2 and taken_over_at is null and erased_at is null returning reference`,
    [merchantId, id, at.toISOString(), (await findAuthor(tx, merchantId, author)).name],
  );
  return tell(tx, merchantId, 'conversation.taken_over', { id, rows, at });
}

export async function handBack(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<boolean> {
  const rows = await tx.run<{ reference: string | null }>(
    `update conversations set taken_over_at = null, taken_over_by = null
      where merchant_id = $1 and id = $2 and taken_over_at is not null returning reference`,
    [merchantId, id],
  );
  return tell(tx, merchantId, 'conversation.handed_back', { id, rows, at });
}

async function tell(
  tx: Transaction,
  merchantId: MerchantId,
  type: 'conversation.taken_over' | 'conversation.handed_back',
  { id, rows: [row], at }: { id: number; rows: readonly { reference: string | null }[]; at: Date },
): Promise<boolean> {
  if (!row) return false;
  const data = { conversation_id: id, conversation_reference: row.reference };
  await logEvents(tx, merchantId, [{ type, at, notificationId: null, data }]);
  await renewVersion(tx, merchantId);
  return true;
}
