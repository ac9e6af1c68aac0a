import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { readOfMerchants } from '../database/ofMerchants.ts';

/** What a merchant's conversations and messages take, and their version: the only SQL on conversation_storage. */

export const CONVERSATION_BYTES = 500;

/** A SQL expression: what a merchant's conversations and their messages take. */
export const conversationBytes = (merchantId: string) =>
  `coalesce((select bytes from conversation_storage where merchant_id = ${merchantId}), 0)`;

const COUNTED = `on conflict (merchant_id) do update set bytes = conversation_storage.bytes + excluded.bytes`;

/** For whoever adds or removes rows, in the same transaction. Fewer bytes are negative. */
export async function countBytes(tx: Transaction, merchantId: MerchantId, bytes: number): Promise<void> {
  await tx.run(`insert into conversation_storage (merchant_id, bytes) values ($1, $2) ${COUNTED}`, [
    merchantId,
    bytes,
  ]);
}

/** Counts less for many merchants, in one order: another process may do the same. */
export async function freeBytes(tx: Transaction, bytes: ReadonlyMap<MerchantId, number>): Promise<void> {
  for (const merchantId of [...bytes.keys()].sort((a, b) => a - b))
    await countBytes(tx, merchantId, -bytes.get(merchantId)!);
}

const RENEW = `insert into conversation_storage (merchant_id, bytes, version) values ($1, $2, $3)
  ${COUNTED}, version = excluded.version`;

/** The same after a change that everybody hears of, who looks at the conversations. */
export async function renewVersion(tx: Transaction, merchantId: MerchantId, bytes = 0): Promise<void> {
  await tx.run(RENEW, [merchantId, bytes, randomUUID()]);
}

/** A merchant's version is a new random value after every message, and when a conversation is taken over. */
export async function readConversationVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, { conversations: string }>> {
  const rows = await readOfMerchants<{ merchant_id: MerchantId; version: string }>(
    queries,
    merchantIds,
    (isTheirs) => `select merchant_id, version from conversation_storage where ${isTheirs}`,
  );
  return new Map(rows.map(({ merchant_id, version }) => [merchant_id, { conversations: version }]));
}
