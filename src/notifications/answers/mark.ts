import type { Author, MerchantId } from '../../contract/ids.ts';
import { erasedAtOf } from '../../conversations/columns.ts';
import { type Change, defineChange } from '../../database/chain.ts';

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

/**
 * If several answers arrive at the same time, exactly one finds the notification still requested. Nobody answers a
 * customer who is being erased.
 */
export const markAnswered = (merchantId: MerchantId, id: number, mark: Mark): Change => ({
  shape: ANSWERED,
  values: [rowOf(merchantId, id, mark)],
});

/** The same for a question that is no longer asked: nothing goes to the customer. */
export const markCancelled = (merchantId: MerchantId, id: number, mark: Mark): Change => ({
  shape: CANCELLED,
  values: [rowOf(merchantId, id, mark)],
});

const rowOf = (merchantId: MerchantId, id: number, { answer, answeredBy, at, hold }: Mark) => ({
  merchant_id: merchantId,
  id,
  answer,
  answered_by: answeredBy.userId,
  key_id: answeredBy.keyId,
  at: at.toISOString(),
  undo_until: hold?.until ?? null,
  held: hold?.held ?? null,
});

const answeredIf = (where: string) =>
  defineChange({
    do: 'update',
    table: 'notifications',
    columns: {
      merchant_id: 'bigint',
      id: 'bigint',
      answer: 'text',
      answered_by: 'bigint',
      key_id: 'bigint',
      at: 'text',
      undo_until: 'text',
      held: 'text',
    },
    set: `status = 'answered', answer = r.answer, answered_by = r.answered_by, answered_by_key = r.key_id,
      updated_at = r.at, undo_until = r.undo_until, held = r.held`,
    where: `notifications.id = r.id and notifications.status = 'requested' ${where}`,
  });
const IS_NOT_ERASED = `and ${erasedAtOf('notifications', 'r.merchant_id')} is null`;
const ANSWERED = answeredIf(IS_NOT_ERASED);
const CANCELLED = answeredIf('');

/** Ends a hold. Only one of many, or a person who takes the answer back, finds the answer still held. */
export const markReleased = (merchantId: MerchantId, id: number, held: string): Change => ({
  shape: RELEASED,
  values: [{ merchant_id: merchantId, id, held }],
});

const RELEASED = defineChange({
  do: 'update',
  table: 'notifications',
  columns: { merchant_id: 'bigint', id: 'bigint', held: 'text' },
  set: 'undo_until = null, held = null',
  where: `notifications.id = r.id and notifications.held = r.held ${IS_NOT_ERASED}`,
});
