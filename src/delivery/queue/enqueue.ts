import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import {
  afterCommit,
  CHANGES,
  type Database,
  type Queries,
  type Transaction,
} from '../../database/database.ts';
import { storableText } from '../../database/text.ts';
import { currentSpan } from '../../tracing.ts';
import { NO_CHANNEL, type OnFailed } from '../failures.ts';
import { type CountryCode, parsePhone } from '../phone.ts';
import { quotaFreeAt } from '../quota.ts';
import { findNewestMessages } from './attention.ts';
import { failedReportStep, firstEventsStep } from './events.ts';
import { isNotErased, NEW_DELIVERY, NO_NOTIFICATION, newDeliveriesQueueStep } from './table.ts';

/** A message to a customer. It is written together with the answer that it contains. */
export interface NewDelivery {
  /** Null if it answers no notification. */
  notificationId: number | null;
  conversationId: number;
  /** The conversation's name in the system it comes from. */
  reference: string | null;
  /** The notification's context, as the JSON text that was received. */
  context: string;
  /** As entered: a number without a country code belongs to `country`. */
  recipient: string;
  /** The merchant's country, if it has one. */
  country: string | null;
  mode: 'reply' | 'campaign';
  content: string;
  at: Date;
  /** When it may be sent, if not now: until then it can be taken back. */
  dueAt?: Date | undefined;
  /** The name of whoever wrote it, if it answers no notification. */
  sentBy?: string | null | undefined;
  /** The customer's message that it quotes. */
  replyTo?: { id: number; messageId: string | null } | undefined;
}

/** A message that somebody writes to a customer without a question. */
type DirectMessage = Omit<NewDelivery, 'notificationId' | 'context' | 'mode'>;

interface Prepared {
  steps: Step[];
  waitsUntil: Date | undefined;
  /** In the transaction that has written it, or after the statement. Reports a message that cannot be sent. */
  written(queries: Database | Transaction): Promise<void>;
}

export interface Outbox {
  /** Of numbers without a country code, for merchants without their own. */
  readonly defaultCountry: CountryCode | undefined;
  /**
   * The steps that put a message into the queue. They run after the answer's own step, so the message exists only if
   * the answer does. Also returns until when it must wait for the daily limit, if that is already known, and what to
   * call when the steps have written it.
   */
  prepare(
    queries: Queries,
    merchantId: MerchantId,
    delivery: NewDelivery & { notificationId: number },
    after: string,
  ): Promise<Prepared>;
  /** Puts a message into the queue that answers no notification, and returns its id. Undefined if its number is not valid. */
  send(tx: Queries, merchantId: MerchantId, message: DirectMessage): Promise<number | undefined>;
  /** Call it after the commit, so that a worker looks immediately. */
  announce(): void;
}

/** After a commit that changed messages: workers and the merchant's people see it at once. */
export function announceChange({ database, outbox }: { database: Database; outbox: Outbox }): void {
  outbox.announce();
  database.signal(CHANGES);
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
  onFailed?: OnFailed,
): Outbox {
  return {
    defaultCountry,
    async prepare(queries, merchantId, delivery, after) {
      const address = readAddress(delivery, defaultCountry);
      const waitsUntil =
        delivery.mode === 'campaign' && address.state === 'queued'
          ? await quotaFreeAt(queries, merchantId, address.recipient, channelDailyLimit, delivery.at)
          : undefined;
      return {
        steps: enqueueSteps(merchantId, delivery, address, after),
        waitsUntil,
        async written(queries) {
          if (address.state !== 'failed' || !onFailed) return;
          const { conversationId, notificationId } = delivery;
          const deliveryId = await findNewestId(queries, merchantId, notificationId);
          const failed = {
            merchantId,
            deliveryId,
            conversationId,
            channel: NO_CHANNEL,
            code: NO_PHONE_NUMBER,
          };
          afterCommit(queries, () => onFailed(failed));
        },
      };
    },
    async send(tx, merchantId, message) {
      const address = readAddress(message, defaultCountry);
      if (address.state === 'failed') return undefined;
      const delivery = { ...message, notificationId: null, context: '{}', mode: 'reply' as const };
      const [row] = await tx.chain<{ id: number }>(enqueueSteps(merchantId, delivery, address));
      return row?.id;
    },
    announce: () => database.signal(DELIVERIES),
  };
}

async function findNewestId(
  queries: Database | Transaction,
  merchantId: MerchantId,
  notificationId: number,
): Promise<number | undefined> {
  const reading = findNewestMessages(queries, merchantId, [notificationId]);
  // Outside a transaction the message is written already, and the request must not fail any more.
  const found = await ('transaction' in queries ? reading.catch(() => undefined) : reading);
  return found?.get(notificationId)?.id;
}

const RECIPIENT_LENGTH_MAX = 64;
const NO_PHONE_NUMBER = 'NO_PHONE_NUMBER';

export type Address =
  | { state: 'queued'; recipient: string }
  /** The number is not valid, so nothing can be sent. The reason quotes it because the merchant must correct it. */
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

/** Joins the worker's spans to the trace of this request. */
function recordedTrace(): string | null {
  const span = currentSpan();
  return span?.isRecorded ? span.traceparent : null;
}

/**
 * The message, its first event, and the merchant's queue. `after` is a step that is `returning` the merchant and id of
 * the answered notification. If given, the message is written only if that step returned a row.
 */
export function enqueueSteps(
  merchantId: MerchantId,
  delivery: NewDelivery,
  address: Address,
  after?: string,
): Step[] {
  return [
    {
      name: 'delivery',
      rows: {
        columns: {
          merchant_id: 'bigint',
          key: 'text',
          notification_id: 'bigint',
          conversation_id: 'bigint',
          reference: 'text',
          context: 'text',
          recipient: 'text',
          mode: 'text',
          content: 'text',
          uses_quota: 'integer',
          state: 'text',
          reason: 'text',
          last_code: 'text',
          at: 'text',
          due_at: 'text',
          sent_by: 'text',
          reply_to: 'bigint',
          reply_to_message: 'text',
          traceparent: 'text',
        },
        values: [
          {
            merchant_id: merchantId,
            key: randomUUID(),
            notification_id: delivery.notificationId ?? NO_NOTIFICATION,
            conversation_id: delivery.conversationId,
            reference: delivery.reference,
            context: delivery.context,
            recipient: address.recipient,
            mode: delivery.mode,
            content: storableText(delivery.content),
            uses_quota: delivery.mode === 'campaign' ? 1 : 0,
            state: address.state,
            reason: address.state === 'failed' ? address.reason : null,
            last_code: address.state === 'failed' ? NO_PHONE_NUMBER : null,
            at: delivery.at.toISOString(),
            due_at: (delivery.dueAt ?? delivery.at).toISOString(),
            sent_by: delivery.sentBy ?? null,
            reply_to: delivery.replyTo?.id ?? null,
            reply_to_message: delivery.replyTo?.messageId ?? null,
            traceparent: recordedTrace(),
          },
        ],
      },
      sql: `insert into deliveries (merchant_id, key, notification_id, conversation_id, reference, context, recipient,
          mode, content, uses_quota, state, reason, last_code, due_at, created_at, updated_at, sent_by, reply_to,
          reply_to_message, traceparent)
        select r.merchant_id, r.key, r.notification_id, r.conversation_id, r.reference, r.context, r.recipient, r.mode,
          r.content, r.uses_quota, r.state, r.reason, r.last_code, r.due_at, r.at, r.at, r.sent_by,
          r.reply_to, r.reply_to_message, r.traceparent from delivery_rows r
          ${after ? `join ${after} a on a.merchant_id = r.merchant_id and a.id = r.notification_id` : ''}
          where ${isNotErased('r')}
        returning ${NEW_DELIVERY}`,
    },
    firstEventsStep,
    ...(address.state === 'failed' ? [failedReportStep] : []),
    newDeliveriesQueueStep,
  ];
}
