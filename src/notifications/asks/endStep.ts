import type { MerchantId } from '../../contract/ids.ts';
import { type Change, defineChange } from '../../database/chain.ts';

/** How an ask ended, other than by its expiry. */
export interface Ending {
  status: 'answered' | 'resolved' | 'cancelled' | 'deleted';
  answer?: string;
  /** The name of the user or key. */
  by: string | null;
  at: Date;
}

/** Writes how an ask ended. One that has expired may still be answered. */
export const endAskStep = (
  merchantId: MerchantId,
  id: number,
  { status, answer, by, at }: Ending,
): Change => ({
  shape: ENDED,
  values: [{ merchant_id: merchantId, id, status, answer: answer ?? null, by, at: at.toISOString() }],
});

const ENDED = defineChange({
  do: 'update',
  table: 'asks',
  columns: { merchant_id: 'bigint', id: 'bigint', status: 'text', answer: 'text', by: 'text', at: 'text' },
  set: 'status = r.status, answer = r.answer, ended_at = r.at, answered_by = r.by',
  where: `asks.id = r.id and asks.status in ('waiting', 'expired')`,
});
