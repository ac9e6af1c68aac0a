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

/** A merchant that is being deleted: this one, or the one that was marked first. */
export const findDeleting = (
  queries: Queries,
  merchantId: MerchantId | undefined,
): Promise<{ id: MerchantId; deleting_at: string } | undefined> =>
  merchantId === undefined
    ? queries.one(
        'select id, deleting_at from merchants where deleting_at is not null order by deleting_at limit 1',
      )
    : queries.one('select id, deleting_at from merchants where id = $1 and deleting_at is not null', [
        merchantId,
      ]);

/** The last row of a merchant. */
export async function removeMerchant(tx: Transaction, merchantId: MerchantId): Promise<boolean> {
  const rows = await tx.run('delete from merchants where id = $1 and deleting_at is not null returning id', [
    merchantId,
  ]);
  return rows.length > 0;
}
