import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';
import { CHANNEL_NAMES } from './channels/descriptors.ts';
import { ENDPOINT } from './queue/table.ts';

/** Why a message failed for good, in a few words that never change with what a channel says. */
const FAILURE_REASONS = [
  'wrong_number',
  'customer_refuses',
  'held_back',
  'template',
  'address_refused',
  'no_answer',
  'unreachable',
  'receiver_error',
  'refused',
  'internal',
  'other',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** The first that matches counts. Numbers are codes of WhatsApp. */
const TABLE: readonly (readonly [RegExp, FailureReason])[] = [
  [/^(NO_PHONE_NUMBER|131026)$/, 'wrong_number'],
  [/^131050$/, 'customer_refuses'],
  [/^13104[79]$/, 'held_back'],
  [/^132\d{3}$/, 'template'],
  [/^ADDRESS_REFUSED$/, 'address_refused'],
  [/TIMEOUT|ETIMEDOUT/, 'no_answer'],
  [/^(HTTP_5\d\d|131000|131016|UNREADABLE_RESPONSE)$/, 'receiver_error'],
  [/^(HTTP_\d{3}|\d{1,6}|NO_CODE)$/, 'refused'],
  [/^CHANNEL_ERROR$/, 'internal'],
  [/^(E[A-Z_]+|UND_ERR\w*|CONNECTION_\w+|NETWORK|\w*CERT\w*|\w*SIGN\w*)$/, 'unreachable'],
];

export const failureReason = (code: string | undefined): FailureReason =>
  TABLE.find(([codes]) => codes.test(code ?? ''))?.[1] ?? 'other';

/** A message that failed for good: ids only, never its number or its text. */
interface FailedDelivery {
  merchantId: MerchantId;
  /** Absent if the database went away after it was written. */
  deliveryId: number | undefined;
  conversationId: number;
  /** The type of the channel, or `NO_CHANNEL`. */
  channel: string;
  code: string | undefined;
}

export type OnFailed = (failed: FailedDelivery) => void;

/** A message that failed before it came to a channel. */
export const NO_CHANNEL = 'none';

/** Neither a text nor a phone number fits. */
const CODE = /^(?=.{1,60}$)(?:(?:HTTP_)?\d{1,6}|[A-Z_]+(?:\d{1,2}[A-Z_]+)*)$/;
/** Our own codes of attempts after which no message has failed. */
const OWN_CODES = new Set(['CUSTOMER_PACE', 'NUMBER_PACE', 'DATABASE_AWAY', 'FAILED_TOO_LONG']);

/** What a metric, a span or a log line may show of a code, because a channel could use any text as its code. */
export function knownCode(code: string): string {
  const isKnown = CODE.test(code) && (OWN_CODES.has(code) || failureReason(code) !== 'other');
  return isKnown ? code : 'other';
}

/** A count and a log line for each. */
export function reportFailures(
  log: Logger,
  count: (channel: string, reason: FailureReason, by: number) => void,
): OnFailed {
  // From zero on: Prometheus cannot see that a count has grown if its first value is already above zero.
  for (const channel of [...CHANNEL_NAMES, ENDPOINT, NO_CHANNEL]) {
    for (const reason of FAILURE_REASONS) count(channel, reason, 0);
  }
  return ({ merchantId, deliveryId, conversationId, channel, code }) => {
    const reason = failureReason(code);
    count(channel, reason, 1);
    log.warn(
      {
        merchant_id: merchantId,
        delivery_id: deliveryId,
        conversation_id: conversationId,
        channel,
        reason,
        code: code && knownCode(code),
      },
      'delivery failed',
    );
  };
}
