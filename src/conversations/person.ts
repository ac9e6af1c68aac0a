import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';
import { FOR_UPDATE, ownIdIn } from '../database/ids.ts';

/** Which conversations and numbers are of the same customer. */

export interface ErasedConversation {
  id: number;
  reference: string | null;
  customer_name: string;
  customer_phone: string;
}

/** The conversation and the merchant's others with the same number: they are of the same person. */
export async function findPerson(queries: Queries, merchantId: MerchantId, id: number): Promise<number[]> {
  const first = await queries.one<{ customer_phone: string }>(
    'select customer_phone from conversations where merchant_id = $1 and id = $2 and erased_at is null',
    [merchantId, id],
  );
  if (!first) return [];
  if (first.customer_phone === '') return [id];
  const rows = await queries.all<{ id: number }>(
    'select id from conversations where merchant_id = $1 and customer_phone = $2 order by id',
    [merchantId, first.customer_phone],
  );
  return rows.map((row) => row.id);
}

/** Those of these conversations that are not erased, locked until the transaction ends. */
export async function lockConversations(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<ErasedConversation[]> {
  return tx.all(
    `select id, reference, customer_name, customer_phone from conversations
      where ${ownIdIn(tx, '$1', '$2')} and erased_at is null order by id ${FOR_UPDATE[tx.engine]}`,
    [merchantId, ids],
  );
}

/** Conversations with a number that existed at that time. */
export async function findWithPhone(
  queries: Queries,
  merchantId: MerchantId,
  { phone, until, limit }: { phone: string; until: string; limit: number },
): Promise<number[]> {
  const rows = await queries.all<{ id: number }>(
    `select id from conversations where merchant_id = $1 and customer_phone = $2 and created_at <= $3
      limit $4`,
    [merchantId, phone, until, limit],
  );
  return rows.map((row) => row.id);
}

/** Numbers of a merchant's first customers, in the order in which they are removed. */
export async function phonesOf(queries: Queries, merchantId: MerchantId, limit: number): Promise<string[]> {
  const rows = await queries.all<{ phone: string }>(
    'select customer_phone as phone from conversations where merchant_id = $1 limit $2',
    [merchantId, limit],
  );
  return [...new Set(rows.map(({ phone }) => phone))].filter((phone) => phone !== '');
}

/** The merchants that have a customer with this number. */
export async function merchantsWith(queries: Queries, phone: string): Promise<MerchantId[]> {
  const rows = await queries.all<{ merchant_id: MerchantId }>(
    'select distinct merchant_id from conversations where customer_phone = $1 order by merchant_id',
    [phone],
  );
  return rows.map(({ merchant_id }) => merchant_id);
}

/** Whether the merchant has a customer with this number: one since before that time, or only one who is newer. */
export async function whoHasPhone(
  queries: Queries,
  merchantId: MerchantId,
  phone: string,
  at: string,
): Promise<'nobody' | 'somebody before' | 'somebody since'> {
  const row = await queries.one<{ first: string | null }>(
    'select min(created_at) as first from conversations where customer_phone = $2 and merchant_id = $1',
    [merchantId, phone],
  );
  if (!row?.first) return 'nobody';
  return row.first < at ? 'somebody before' : 'somebody since';
}

/** The numbers of a customer, and those of `others` that no other customer has: an answer may go to another number. */
export async function findPhones(
  queries: Queries,
  merchantId: MerchantId,
  conversationIds: readonly number[],
  others: readonly string[],
): Promise<string[]> {
  const own = await queries.all<{ phone: string }>(
    `select distinct customer_phone as phone from conversations
      where ${ownIdIn(queries, '$1', '$2')} and customer_phone <> ''`,
    [merchantId, conversationIds],
  );
  const phones = new Set(own.map(({ phone }) => phone));
  for (const phone of others) {
    const sql = 'select id from conversations where merchant_id = $1 and customer_phone = $2 limit 1';
    if (!(await queries.one(sql, [merchantId, phone]))) phones.add(phone);
  }
  return [...phones];
}
