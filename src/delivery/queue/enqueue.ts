import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../../contract/ids.ts';
import { defineChange, defineInsert, type Insert } from '../../database/chain.ts';
import {
  afterCommit,
  CHANGES,
  type Database,
  type Queries,
  type Transaction,
} from '../../database/database.ts';
import { storableText } from '../../database/text.ts';
import type { NewEvent } from '../../events/record.ts';
import { currentSpan } from '../../tracing.ts';
import { NO_CHANNEL, type OnFailed } from '../failures.ts';
import { type CountryCode, parsePhone } from '../phone.ts';
import { quotaFreeAt } from '../quota.ts';
import { historyStep, reportsOf } from './events.ts';
import { DELIVERY_COLUMNS, MESSAGES, NO_NOTIFICATION, queueStep } from './table.ts';

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
  /** For the delivery with this id. The events come after those of the answer. */
  steps(id: number): { steps: Insert[]; events: NewEvent[] };
  waitsUntil: Date | undefined;
  /** In the transaction that has written it, or after the chain. Reports a message that cannot be sent. */
  written(queries: Database | Transaction): void;
}

export interface Outbox {
  /** Of numbers without a country code, for merchants without their own. */
  readonly defaultCountry: CountryCode | undefined;
  /**
   * The steps that put a message into the queue, for the chain of its answer: the message exists only if the answer does.
   * Also returns until when it must wait for the daily limit, if that is already known, and what to call when it is
   * written.
   */
  prepare(
    queries: Queries,
    merchantId: MerchantId,
    delivery: NewDelivery & { notificationId: number },
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
    async prepare(queries, merchantId, delivery) {
      const address = readAddress(delivery, defaultCountry);
      const waitsUntil =
        delivery.mode === 'campaign' && address.state === 'queued'
          ? await quotaFreeAt(queries, merchantId, address.recipient, channelDailyLimit, delivery.at)
          : undefined;
      let deliveryId: number | undefined;
      return {
        steps(id) {
          deliveryId = id;
          return enqueueSteps(merchantId, id, delivery, address);
        },
        waitsUntil,
        written(queries) {
          if (address.state !== 'failed' || !onFailed) return;
          const { conversationId } = delivery;
          const failed = {
            ...{ merchantId, deliveryId, conversationId, channel: NO_CHANNEL, code: NO_PHONE_NUMBER },
          };
          afterCommit(queries, () => onFailed(failed));
        },
      };
    },
    async send(tx, merchantId, message) {
      const address = readAddress(message, defaultCountry);
      if (address.state === 'failed') return undefined;
      const delivery = { ...message, notificationId: null, context: '{}', mode: 'reply' as const };
      let sent: number | undefined;
      const found = await tx.chain({
        newIds: { deliveries: 1 },
        build(ids) {
          sent = ids.deliveries![0]!;
          const values = [{ merchant_id: merchantId, id: message.conversationId }];
          const gate = { shape: REACHABLE, values };
          return { gate, steps: enqueueSteps(merchantId, sent, delivery, address).steps };
        },
      });
      return found.length > 0 ? sent : undefined;
    },
    announce: () => database.signal(DELIVERIES),
  };
}

/** Nothing is sent to a customer who is being erased. */
const REACHABLE = defineChange({
  do: 'find',
  table: 'conversations',
  columns: { merchant_id: 'bigint', id: 'bigint' },
  where: 'conversations.id = r.id and conversations.erased_at is null',
});

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

/** The message with this id, its first event, and the merchant's queue. */
export function enqueueSteps(
  merchantId: MerchantId,
  id: number,
  delivery: NewDelivery,
  address: Address,
): { steps: Insert[]; events: NewEvent[] } {
  const at = delivery.at.toISOString();
  const dueAt = (delivery.dueAt ?? delivery.at).toISOString();
  const { notificationId, conversationId } = delivery;
  const failure = address.state === 'failed' ? { note: address.reason, code: NO_PHONE_NUMBER } : {};
  const history = [{ deliveryId: id, at, state: address.state, ...failure }];
  const message = {
    ...{ id, endpoint_id: MESSAGES, notification_id: notificationId, conversation_id: conversationId },
  };
  return {
    steps: [
      {
        shape: MESSAGE,
        values: [
          {
            id,
            merchant_id: merchantId,
            key: randomUUID(),
            notification_id: notificationId ?? NO_NOTIFICATION,
            conversation_id: conversationId,
            reference: delivery.reference,
            context: delivery.context,
            recipient: address.recipient,
            mode: delivery.mode,
            content: storableText(delivery.content),
            uses_quota: delivery.mode === 'campaign' ? 1 : 0,
            state: address.state,
            reason: failure.note ?? null,
            last_code: failure.code ?? null,
            due_at: dueAt,
            created_at: at,
            updated_at: at,
            sent_by: delivery.sentBy ?? null,
            reply_to: delivery.replyTo?.id ?? null,
            reply_to_message: delivery.replyTo?.messageId ?? null,
            traceparent: recordedTrace(),
          },
        ],
      },
      historyStep(merchantId, history),
      queueStep(merchantId, dueAt),
    ],
    events: reportsOf([message], history),
  };
}

const MESSAGE = defineInsert({
  table: 'deliveries',
  columns: {
    ...DELIVERY_COLUMNS,
    uses_quota: 'integer',
    reason: 'text',
    last_code: 'text',
    sent_by: 'text',
    reply_to: 'bigint',
    reply_to_message: 'text',
    traceparent: 'text',
  },
});
