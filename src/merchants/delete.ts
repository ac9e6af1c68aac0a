import type { MerchantId } from '../contract/ids.ts';
import type { Queries, Transaction } from '../database/database.ts';

/** Marks a merchant. False if there is none, or it is marked already. */
export async function markDeleting(tx: Transaction, merchantId: MerchantId, at: Date): Promise<boolean> {
  const rows = await tx.run(
    'update merchants set deleting_at = $2 where id = $1 and deleting_at is null returning id',
    [merchantId, at.toISOString()],
  );
  return rows.length > 0;
}

export interface Deleting {
  id: MerchantId;
  /** Since when. */
  deleting_at: string;
}

/** The merchants that are being deleted, first marked first. */
export const listDeleting = (queries: Queries): Promise<Deleting[]> =>
  queries.all('select id, deleting_at from merchants where deleting_at is not null order by deleting_at');

export const findDeleting = (queries: Queries, merchantId: MerchantId): Promise<Deleting | undefined> =>
  queries.one('select id, deleting_at from merchants where id = $1 and deleting_at is not null', [
    merchantId,
  ]);

/** Before the last row goes: nothing but the id is left. */
export async function blankMerchant(tx: Transaction, merchantId: MerchantId): Promise<void> {
  await tx.run(`update merchants set name = '' where id = $1 and deleting_at is not null and name <> ''`, [
    merchantId,
  ]);
}

/** The last row of a merchant. */
export async function removeMerchant(tx: Transaction, merchantId: MerchantId): Promise<boolean> {
  const rows = await tx.run('delete from merchants where id = $1 and deleting_at is not null returning id', [
    merchantId,
  ]);
  return rows.length > 0;
}
