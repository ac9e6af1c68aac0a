import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../../contract/ids.ts';
import { CHANGES, type Database, type Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { storableText } from '../../database/text.ts';
import { currentSpan } from '../../tracing.ts';
import { NO_CHANNEL, type OnFailed } from '../failures.ts';
import { type CountryCode, parsePhone } from '../phone.ts';
import { quotaFreeAt } from '../quota.ts';
import { recordEvents } from './events.ts';
import { MESSAGES, makeQueueDue, NO_NOTIFICATION } from './table.ts';

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

export interface Outbox {
  /** Of numbers without a country code, for merchants without their own. */
  readonly defaultCountry: CountryCode | undefined;
  /**
   * Puts a message into the queue, in the transaction of its answer: the message exists only if the answer does. Also
   * returns until when it must wait for the daily limit, if that is already known. `newId` is a number for it, if that is
   * known before.
   */
  enqueue(tx: Transaction, merchantId: MerchantId, delivery: NewDelivery, newId?: number): Promise<Enqueued>;
  /** Puts a message into the queue that answers no notification, and returns its id. Undefined if its number is not valid. */
  send(tx: Transaction, merchantId: MerchantId, message: DirectMessage): Promise<number | undefined>;
  /** Call it after the commit, so that a worker looks immediately. */
  announce(): void;
}

interface Enqueued {
  id: number;
  waitsUntil: Date | undefined;
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
    async enqueue(tx, merchantId, delivery, newId) {
      const { conversationId, mode, at } = delivery;
      const address = readAddress(delivery, defaultCountry);
      const waitsUntil =
        mode === 'campaign' && address.state === 'queued'
          ? await quotaFreeAt(tx, merchantId, address.recipient, channelDailyLimit, at)
          : undefined;
      const id = await insertMessage(tx, merchantId, delivery, address, newId);
      if (address.state === 'failed' && onFailed) {
        const code = NO_PHONE_NUMBER;
        const failed = { merchantId, deliveryId: id, conversationId, channel: NO_CHANNEL, code };
        tx.afterCommit(() => onFailed(failed));
      }
      return { id, waitsUntil };
    },
    async send(tx, merchantId, message) {
      const address = readAddress(message, defaultCountry);
      if (address.state === 'failed') return undefined;
      if (!(await isReachable(tx, merchantId, message.conversationId))) return undefined;
      const delivery = { ...message, notificationId: null, context: '{}', mode: 'reply' as const };
      return insertMessage(tx, merchantId, delivery, address);
    },
    announce: () => database.signal(DELIVERIES),
  };
}

/** Nothing is sent to a customer who is being erased. */
async function isReachable(tx: Transaction, merchantId: MerchantId, id: number): Promise<boolean> {
  const sql = 'select id from conversations where merchant_id = $1 and id = $2 and erased_at is null';
  return (await tx.one(sql, [merchantId, id])) !== undefined;
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

/** Writes a message, its first event, and that the merchant's queue is due. Returns its id. */
export async function insertMessage(
  tx: Transaction,
  merchantId: MerchantId,
  delivery: NewDelivery,
  address: Address,
  newId?: number,
): Promise<number> {
  const id = newId ?? (await tx.newIds('deliveries', 1))[0]!;
  const at = delivery.at.toISOString();
  const dueAt = (delivery.dueAt ?? delivery.at).toISOString();
  const { notificationId, conversationId } = delivery;
  const failure = address.state === 'failed' ? { note: address.reason, code: NO_PHONE_NUMBER } : {};
  await insertRows(tx, 'deliveries', [
    {
      id: id,
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
  ]);
  const message = {
    ...{ id: id, endpoint_id: MESSAGES, notification_id: notificationId, conversation_id: conversationId },
  };
  await recordEvents(tx, merchantId, [message], [{ deliveryId: id, at, state: address.state, ...failure }]);
  await makeQueueDue(tx, merchantId, dueAt);
  return id;
}
