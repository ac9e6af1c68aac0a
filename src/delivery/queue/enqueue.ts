import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Database, Queries } from '../../database/database.ts';
import { storableText } from '../../database/text.ts';
import { type CountryCode, parsePhone } from '../phone.ts';
import { quotaFreeAt } from '../quota.ts';
import { firstEventStep } from './events.ts';
import { newDeliveriesQueueStep } from './table.ts';

/** A message to a customer, written with the answer that it carries. */
export interface NewDelivery {
  notificationId: number;
  conversationId: number;
  /** The conversation's name in the system it comes from. */
  reference: string | null;
  /** The notification's context, as the JSON text that it came in. */
  context: string;
  /** As somebody wrote it: a number without a country code belongs to `country`. */
  recipient: string;
  /** The merchant's country, where it has one. */
  country: string | null;
  mode: 'reply' | 'campaign';
  content: string;
  at: Date;
}

export interface Outbox {
  /**
   * The steps that put a message into the queue, after the answer's own step: the message exists exactly if the
   * answer does. Says also until when it must wait for the daily limit, where that is known already.
   */
  prepare(
    queries: Queries,
    merchantId: MerchantId,
    delivery: NewDelivery,
    after: string,
  ): Promise<{ steps: Step[]; waitsUntil: Date | undefined }>;
  /** Call it after the commit: a worker looks at once. */
  announce(): void;
}

/** Workers listen to this. */
export const DELIVERIES = 'deskbell_deliveries';

interface OutboxDefaults {
  channelDailyLimit: number;
  defaultCountry: CountryCode | undefined;
}

export function createOutbox(
  database: Database,
  { channelDailyLimit, defaultCountry }: OutboxDefaults,
): Outbox {
  return {
    async prepare(queries, merchantId, delivery, after) {
      const address = readAddress(delivery, defaultCountry);
      const waitsUntil =
        delivery.mode === 'campaign' && address.state === 'queued'
          ? await quotaFreeAt(queries, merchantId, address.recipient, channelDailyLimit, delivery.at)
          : undefined;
      return { steps: enqueueSteps(merchantId, delivery, address, after), waitsUntil };
    },
    announce: () => database.signal(DELIVERIES),
  };
}

const RECIPIENT_LENGTH_MAX = 64;
const NO_PHONE_NUMBER = 'NO_PHONE_NUMBER';

export type Address =
  | { state: 'queued'; recipient: string }
  /** The number is not valid, so nothing can be sent. The reason quotes it, since the merchant must correct it. */
  | { state: 'failed'; recipient: string; reason: string };

export function readAddress(
  { recipient, country }: Pick<NewDelivery, 'recipient' | 'country'>,
  defaultCountry: CountryCode | undefined,
): Address {
  const parsed = parsePhone(recipient, (country as CountryCode | null) ?? defaultCountry);
  if ('phone' in parsed) return { state: 'queued', recipient: parsed.phone };
  const written = storableText(recipient.slice(0, RECIPIENT_LENGTH_MAX));
  return { state: 'failed', recipient: written, reason: `“${written}” ${parsed.problem}.` };
}

/** The message, its first event, and the merchant's queue. */
export function enqueueSteps(
  merchantId: MerchantId,
  delivery: NewDelivery,
  address: Address,
  after?: string,
): Step[] {
  const at = delivery.at.toISOString();
  const { state, recipient } = address;
  const [reason, code] = address.state === 'failed' ? [address.reason, NO_PHONE_NUMBER] : [];
  return [
    {
      name: 'delivery',
      after,
      sql: `insert into deliveries (merchant_id, key, notification_id, conversation_id, reference, context, recipient,
          mode, content, uses_quota, state, reason, last_code, due_at, created_at, updated_at)
        select cast($1 as bigint), $2, cast($3 as bigint), cast($4 as bigint), $5, $6, $7, $8, $9,
          cast($10 as integer), $11, $12, $13, $14, $14, $14 ${after ? `from ${after}` : ''}
        returning id, merchant_id, due_at, key`,
      params: [
        merchantId,
        randomUUID(),
        delivery.notificationId,
        delivery.conversationId,
        delivery.reference,
        delivery.context,
        recipient,
        delivery.mode,
        storableText(delivery.content),
        delivery.mode === 'campaign' ? 1 : 0,
        state,
        reason ?? null,
        code ?? null,
        at,
      ],
    },
    firstEventStep(merchantId, { at, state, code, note: reason }),
    newDeliveriesQueueStep,
  ];
}
