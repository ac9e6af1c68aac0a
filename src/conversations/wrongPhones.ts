import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { FOR_UPDATE, ownIdIn } from '../database/ids.ts';
import { customersChanged } from './searchChange.ts';

/** Numbers of customers that turned out to be wrong. An assistant does not know, and goes on to give them. */

/** The oldest are forgotten. */
const WRONG_PHONES_MAX = 20;

/** The number that replaced this one, or this one. */
export async function findRightPhone(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
  phone: string,
): Promise<string> {
  const row = await queries.one<{ replaced_by: string }>(
    'select replaced_by from wrong_phones where merchant_id = $1 and conversation_id = $2 and phone = $3',
    [merchantId, conversationId, phone],
  );
  return row?.replaced_by ?? phone;
}

/** The wrong numbers of these conversations. */
export async function wrongPhonesOf(
  queries: Queries,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<string[]> {
  const rows = await queries.all<{ phone: string }>(
    `select phone from wrong_phones where ${ownIdIn(queries, '$1', '$2', 'conversation_id')}`,
    [merchantId, conversationIds],
  );
  return rows.map(({ phone }) => phone);
}

/** Locks a conversation until the transaction ends, and returns its customer's number. */
export async function lockCustomerPhone(
  tx: Transaction,
  merchantId: MerchantId,
  conversationId: number,
): Promise<string> {
  const row = await tx.one<{ customer_phone: string }>(
    `select customer_phone from conversations where merchant_id = $1 and id = $2 ${FOR_UPDATE[tx.engine]}`,
    [merchantId, conversationId],
  );
  return row?.customer_phone ?? '';
}

interface Correction {
  phone: string;
  wrongPhone: string;
  /** Whether the customer's own number is the wrong one, or there is none. */
  isOwn: boolean;
  at: Date;
}

/**
 * Remembers that a number is wrong, and which one is right. The conversation must be locked. What was wrong before is
 * replaced by the new number, too.
 */
export async function correctPhone(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { phone, wrongPhone, isOwn, at }: Correction,
): Promise<void> {
  if (isOwn) {
    await tx.run(
      `update conversations set updated_at = $4,
          customer_name = case when customer_name = customer_phone then $3 else customer_name end, customer_phone = $3
        where merchant_id = $1 and id = $2`,
      [merchantId, id, phone, at.toISOString()],
    );
    await customersChanged(tx, merchantId, [id]);
  }
  if (['', phone].includes(wrongPhone)) return;
  await tx.run(
    'update wrong_phones set replaced_by = $4 where merchant_id = $1 and conversation_id = $2 and replaced_by = $3',
    [merchantId, id, wrongPhone, phone],
  );
  await tx.run(
    `insert into wrong_phones (merchant_id, conversation_id, phone, replaced_by, created_at) values ($1, $2, $3, $4, $5)
      on conflict (merchant_id, conversation_id, phone) do update
        set replaced_by = excluded.replaced_by, created_at = excluded.created_at`,
    [merchantId, id, wrongPhone, phone, at.toISOString()],
  );
  await tx.run(
    `delete from wrong_phones where merchant_id = $1 and conversation_id = $2 and (phone = $3 or phone not in (
        select w.phone from wrong_phones w where w.merchant_id = $1 and w.conversation_id = $2 and w.phone <> $3
          order by w.created_at desc, w.phone limit ${WRONG_PHONES_MAX}))`,
    [merchantId, id, phone],
  );
}
