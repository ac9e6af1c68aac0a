import { authorNameOf } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';

/** How an ask ended, other than by its expiry. */
export interface Ending {
  status: 'answered' | 'resolved' | 'cancelled' | 'deleted';
  answer?: string;
  author: Author;
  at: Date;
}

/**
 * Writes how an ask ended, if the step `after`, which is `returning` the merchant and id of its notification, returned a
 * row. One that has expired may still be answered.
 */
export const endAskStep = (
  merchantId: MerchantId,
  id: number,
  { status, answer, author, at }: Ending,
  after: string,
): Step => ({
  name: 'ask',
  rows: {
    columns: {
      merchant_id: 'bigint',
      id: 'bigint',
      status: 'text',
      answer: 'text',
      user_id: 'bigint',
      key_id: 'bigint',
      at: 'text',
    },
    values: [
      {
        merchant_id: merchantId,
        id,
        status,
        answer: answer ?? null,
        user_id: author.userId,
        key_id: author.keyId,
        at: at.toISOString(),
      },
    ],
  },
  sql: `update asks set status = r.status, answer = r.answer, ended_at = r.at,
      answered_by = ${authorNameOf('r.merchant_id', 'r.user_id', 'r.key_id')}
    from ask_rows r join ${after} a on a.merchant_id = r.merchant_id and a.id = r.id
    where asks.merchant_id = r.merchant_id and asks.id = r.id and asks.status in ('waiting', 'expired')
    returning asks.id`,
});
