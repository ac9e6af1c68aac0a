import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';

/** An answer to a notification. */
interface Mark {
  answer: string;
  answeredBy: Author;
  at: Date;
  /** It can be undone until then; the rest is done later. */
  hold?: Hold | undefined;
}

/** An answer that can be undone: when it no longer can, and what is left to do then, as JSON. */
export interface Hold {
  until: string;
  held: string;
}

/** Answers a notification that the caller has locked, and found requested. */
export const markAnswered = (
  tx: Queries,
  merchantId: MerchantId,
  id: number,
  { answer, answeredBy: { userId, keyId }, at, hold }: Mark,
): Promise<void> =>
  tx.write(
    `update notifications set status = 'answered', answer = $3, answered_by = $4, answered_by_key = $5,
        updated_at = $6, undo_until = $7, held = $8
      where merchant_id = $1 and id = $2`,
    [merchantId, id, answer, userId, keyId, at.toISOString(), hold?.until ?? null, hold?.held ?? null],
  );

/** Ends the hold of an answer, in a notification that the caller has locked. */
export const markReleased = (tx: Queries, merchantId: MerchantId, id: number): Promise<void> =>
  tx.write('update notifications set undo_until = null, held = null where merchant_id = $1 and id = $2', [
    merchantId,
    id,
  ]);
