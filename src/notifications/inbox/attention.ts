import { recordEvent, type Who } from '../../audit/record.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { SEND_AGAIN_RESULTS } from '../../contract/inbox.ts';
import { correctPhone, lockCustomerPhone } from '../../conversations/wrongPhones.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { isSentOneByOne } from '../../delivery/attention.ts';
import { parsePhone } from '../../delivery/phone.ts';
import {
  type AttentionRow,
  findMessage,
  findNewestMessages,
  listAttention,
} from '../../delivery/queue/attention.ts';
import { BATCH_SIZE, changeInBatches, type ManyResult } from '../../delivery/queue/control/many.ts';
import { readdress } from '../../delivery/queue/control/readdress.ts';
import { type Countries, retryDeliveries } from '../../delivery/queue/control/retry.ts';
import { readAddress } from '../../delivery/queue/enqueue.ts';
import { deliveryNotFailed, deliveryNotFound, invalid, notificationNotFound } from '../../errors.ts';
import { findExisting, findNotification } from '../store.ts';
import { matchingAmong, messagesOf } from './messages.ts';
import { readUnindexed } from './search/find.ts';
import type { SearchQuery } from './search/query.ts';
import type { Filter } from './tabs.ts';

/** What a person does about messages that need attention. */

interface By {
  who: Who;
  at: Date;
}

export type SendAgainResult = (typeof SEND_AGAIN_RESULTS)[number];

/** The newest message of each of these notifications, if it failed. All or nothing. */
export const sendSomeAgain = (
  database: Database,
  merchantId: MerchantId,
  ids: readonly number[],
  countries: Countries,
  { who, at }: By,
): Promise<{ id: number; result: SendAgainResult }[]> =>
  database.transaction(async (tx) => {
    const messages = await findNewestMessages(tx, merchantId, ids);
    // A notification may be deleted, but its message is not in the inbox any more.
    const existing = await findExisting(tx, merchantId, ids);
    const failed = ids.flatMap((id) => {
      const message = messages.get(id);
      return existing.has(id) && message?.state === 'failed' ? [message] : [];
    });
    const { queued, badNumbers } = await retryDeliveries(tx, merchantId, failed, countries, who, at);
    const done = new Map<number, SendAgainResult>([
      ...queued.map((id) => [id, 'queued'] as const),
      ...badNumbers.map((id) => [id, 'bad_number'] as const),
    ]);
    return ids.map((id) => {
      const message = messages.get(id);
      const result = message && existing.has(id) ? (done.get(message.id) ?? 'not_failed') : 'not_found';
      return { id, result };
    });
  });

interface All extends Omit<Filter, 'tab'> {
  query: SearchQuery | 'none' | undefined;
  afterId: number;
  /** Only counts. */
  dryRun: boolean;
}

/**
 * All messages of the tab that failed and that the filter leaves, oldest first. What waits or is stopped is sent by
 * itself. What the customer may have received or does not want is left out: somebody must look at it.
 */
export async function sendAllAgain(
  database: Database,
  merchantId: MerchantId,
  { query, afterId, dryRun, ...filter }: All,
  countries: Countries,
  { who, now }: { who: Who; now: () => Date },
): Promise<ManyResult & { left_out: number }> {
  if (query === 'none') return { count: 0, skipped: 0, left_out: 0, more: false, after_id: afterId };
  const search = query && { query, unindexed: await readUnindexed(database, merchantId) };
  const wanted = { order: 'asc', limit: BATCH_SIZE, ...messagesOf('all', filter) } as const;
  let leftOut = 0;
  const read = (after: number) =>
    listAttention(database, merchantId, { at: now(), channel: 'ok' }, { ...wanted, after }, ['failed']);
  const result = await changeInBatches(afterId, read, async (rows) => {
    const found = await matchingAmong(database, merchantId, search, { ...filter, tab: 'attention' }, rows);
    const sendable = found.filter((row) => !isSentOneByOne(row.last_code));
    leftOut += found.length - sendable.length;
    if (dryRun) {
      const count = sendable.filter(({ recipient }) => isNumber(recipient, countries)).length;
      return { count, skipped: sendable.length - count };
    }
    const { queued, badNumbers } = await database.transaction((tx) =>
      retryDeliveries(tx, merchantId, sendable, countries, who, now()),
    );
    return { count: queued.length, skipped: badNumbers.length };
  });
  return { ...result, left_out: leftOut };
}

const isNumber = (recipient: string, { country, defaultCountry }: Countries) =>
  'phone' in parsePhone(recipient, country ?? defaultCountry);

export const phoneInvalid = (problem = 'is not a phone number') => invalid('phone', `phone ${problem}`);

interface Fix extends Countries {
  phone: string;
}

type FixRecipient = (
  database: Database,
  merchantId: MerchantId,
  given: { id: number } & Fix,
  by: By,
) => Promise<void>;

/** Fixes the number of a notification's newest message. */
export const fixRecipient: FixRecipient = (database, merchantId, { id, ...given }, { who, at }) =>
  database.transaction(async (tx) => {
    const found = await findNotification(tx, { merchantId, id });
    if (!found) throw notificationNotFound();
    const read = async () => (await findNewestMessages(tx, merchantId, [id])).get(id);
    await fixNumber(tx, merchantId, { ...given, conversationId: found.conversation_id, read }, { who, at });
    const event = { what: 'notification.recipient_changed', merchantId, who, at } as const;
    await recordEvent(tx, { ...event, about: { notification_id: id } });
  });

/** Fixes the number of this message, which may answer no notification. */
export const fixRecipientOfMessage: FixRecipient = (database, merchantId, { id, ...given }, { who, at }) =>
  database.transaction(async (tx) => {
    const read = () => findMessage(tx, merchantId, id);
    const found = await read();
    if (!found) throw deliveryNotFound();
    await fixNumber(tx, merchantId, { ...given, conversationId: found.conversation_id, read }, { who, at });
    const event = { what: 'delivery.recipient_changed', merchantId, who, at } as const;
    await recordEvent(tx, { ...event, about: { delivery_id: id } });
  });

interface Wrong extends Fix {
  conversationId: number;
  read: () => Promise<AttentionRow | undefined>;
}

/**
 * Sends a failed message again, to another number. The conversation remembers it, so that what else waits for the
 * customer and the next answers go there too, although the assistant may still give the wrong one. A message that was
 * sent stays as it is, and so does the customer's own number, if it is another.
 */
async function fixNumber(
  tx: Transaction,
  merchantId: MerchantId,
  { conversationId, read, phone, country, defaultCountry }: Wrong,
  { who, at }: By,
): Promise<void> {
  const parsed = parsePhone(phone, country ?? defaultCountry);
  if ('problem' in parsed) throw phoneInvalid(parsed.problem);
  // In the lock order: see `Transaction`.
  const customerPhone = await lockCustomerPhone(tx, merchantId, conversationId);
  const message = await read();
  if (message?.state !== 'failed' && message?.state !== 'cancelled') throw deliveryNotFailed();
  const own = readAddress({ recipient: customerPhone, country: country ?? null }, defaultCountry).recipient;
  const isOwn = ['', message.recipient].includes(own);
  const correction = { phone: parsed.phone, wrongPhone: message.recipient, isOwn, at };
  await correctPhone(tx, merchantId, conversationId, correction);
  const to = { conversationId, phone: parsed.phone };
  // Somebody else may have been faster.
  if (!(await readdress(tx, merchantId, message, to, who, at))) throw deliveryNotFailed();
}
