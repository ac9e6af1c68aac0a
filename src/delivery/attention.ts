import type { Attention, AttentionCode } from '../contract/inbox.ts';
import type { AttentionRow } from './queue/attention.ts';
import { NEVER, NUMBER_FIXED } from './queue/table.ts';

/** Whether a message to a customer needs a person, and why. Pure. The SQL of `queue/attention.ts` selects the same. */

/** A message that waits longer than this needs attention. */
export const WAITING_MAX_MS = 10 * 60_000;

/** What the codes of a channel mean for the merchant. A code that is not here: it was tried and did not work. */
const FAILURES: Readonly<Record<string, AttentionCode>> = {
  NO_PHONE_NUMBER: 'bad_number',
  131026: 'cannot_receive',
  131050: 'opted_out',
  131047: 'window_closed',
  131049: 'held_back',
  100: 'not_accepted',
  131008: 'not_accepted',
  131009: 'not_accepted',
  131051: 'not_accepted',
  132000: 'template',
  132001: 'template',
  132012: 'template',
  132015: 'template',
  132016: 'template',
  TIMEOUT: 'unknown_if_sent',
  UNREADABLE_RESPONSE: 'unknown_if_sent',
  NETWORK: 'unknown_if_sent',
  [NUMBER_FIXED]: 'number_fixed',
};

/** Somebody must look at these before they are sent again: the customer may have the message, or does not want it. */
const ONE_BY_ONE: ReadonlySet<AttentionCode> = new Set(['unknown_if_sent', 'opted_out']);
export const isSentOneByOne = (code: string | null): boolean => ONE_BY_ONE.has(failureOf(code));

/** What the code of a channel means for the merchant. */
export const failureOf = (code: string | null): AttentionCode => FAILURES[code ?? ''] ?? 'gave_up';

export interface AttentionContext {
  at: Date;
  /** Of the merchant's channel, if it does not send at the moment. */
  channel: 'stopped' | 'not_answering' | 'ok';
}

export function attentionOf(row: AttentionRow, { at, channel }: AttentionContext): Attention | null {
  const { state, reason, last_code: code } = row;
  if (state === 'failed') {
    return { kind: 'failed', code: failureOf(code), reason, since: row.updated_at };
  }
  if (state !== 'queued' && state !== 'waiting' && state !== 'sending') return null;
  const since = row.requeued_at ?? row.created_at;
  if (channel === 'stopped' && state !== 'sending') {
    return { kind: 'stopped', code: 'channel_stopped', reason: reason ?? STOPPED, since };
  }
  if (since > new Date(at.getTime() - WAITING_MAX_MS).toISOString()) return null;
  return { kind: 'waiting', ...waitingReason(row, channel), since };
}

const STOPPED = 'The channel is stopped. The message will be sent afterwards.';

function waitingReason(
  { waiting_for, due_at, reason, last_code }: AttentionRow,
  channel: AttentionContext['channel'],
): Pick<Attention, 'code' | 'reason'> {
  if (waiting_for === 'limit') return { code: 'daily_limit', reason };
  if (waiting_for === 'customer') return { code: 'customer_must_write', reason };
  if (channel === 'not_answering') {
    return { code: 'channel_not_answering', reason: 'The channel does not answer. We will retry.' };
  }
  if (due_at === NEVER) {
    return {
      code: 'earlier_message',
      reason: 'It will be sent after an earlier message to the same customer.',
    };
  }
  return last_code === null ? { code: 'not_sent_yet', reason } : { code: 'retrying', reason };
}
