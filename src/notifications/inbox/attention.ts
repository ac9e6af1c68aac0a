import { recordEvent, type Who } from '../../audit/record.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { SEND_AGAIN_RESULTS } from '../../contract/inbox.ts';
import { correctCustomerPhone } from '../../conversations/store.ts';
import type { Database } from '../../database/database.ts';
import { type CountryCode, parsePhone } from '../../delivery/phone.ts';
import { findNewestMessages, listAttention } from '../../delivery/queue/attention.ts';
import { type Countries, retryDeliveries, retryDelivery } from '../../delivery/queue/control.ts';
import { deliveryNotFailed, invalid, notificationNotFound } from '../../errors.ts';
import { existingNotification } from '../columns.ts';
import { findNotification } from '../store.ts';

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
    const results: { id: number; result: SendAgainResult }[] = [];
    for (const id of ids) {
      const message = messages.get(id);
      // A notification may be deleted, but its message is not in the inbox any more.
      const exists = message !== undefined && (await findNotification(tx, merchantId, id)) !== undefined;
      const retry = { id: message?.id ?? 0, recipient: undefined, ...countries };
      results.push({
        id,
        result: exists ? await retryDelivery(tx, merchantId, retry, who, at) : 'not_found',
      });
    }
    return results;
  });

const BATCH_SIZE = 100;
/** How many one call changes. The rest needs another call. */
const MANY_MAX = 2000;

interface ManyResult {
  count: number;
  skipped: number;
  more: boolean;
  after_id: number;
}

/** All messages of the tab that failed, oldest first. What waits or is stopped is sent by itself. */
export async function sendAllAgain(
  database: Database,
  merchantId: MerchantId,
  afterId: number,
  countries: Countries,
  { who, now }: { who: Who; now: () => Date },
): Promise<ManyResult> {
  const result: ManyResult = { count: 0, skipped: 0, more: false, after_id: afterId };
  const exists = existingNotification('d');
  for (let looked = 0; ; ) {
    const at = now();
    const page = { after: result.after_id, order: 'asc', limit: BATCH_SIZE, exists } as const;
    const rows = await listAttention(database, merchantId, { at, channel: 'ok' }, page, ['failed']);
    if (rows.length === 0) return result;
    if (looked >= MANY_MAX) return { ...result, more: true };
    const { changed, badNumbers } = await database.transaction((tx) =>
      retryDeliveries(tx, merchantId, rows, countries, who, at),
    );
    result.count += changed;
    result.skipped += badNumbers;
    result.after_id = rows.at(-1)!.id;
    looked += rows.length;
  }
}

export const phoneInvalid = (problem = 'is not a phone number') => invalid('phone', `phone ${problem}`);

/**
 * Sends a failed message again, to another number. The conversation keeps the number, so that the next answer reaches the
 * customer too, although the assistant may still give the wrong one. A message that was sent stays as it is.
 */
export async function fixRecipient(
  database: Database,
  merchantId: MerchantId,
  { id, phone, country, defaultCountry }: { id: number; phone: string } & Countries,
  { who, at }: By,
): Promise<void> {
  const parsed = parsePhone(phone, (country ?? defaultCountry) as CountryCode | undefined);
  if ('problem' in parsed) throw phoneInvalid(parsed.problem);
  await database.transaction(async (tx) => {
    const notification = await findNotification(tx, merchantId, id);
    if (!notification) throw notificationNotFound();
    const message = (await findNewestMessages(tx, merchantId, [id])).get(id);
    if (message?.state !== 'failed' && message?.state !== 'cancelled') throw deliveryNotFailed();
    const { conversation_id: conversationId } = notification;
    // In the lock order: see `Transaction`.
    const correction = { phone: parsed.phone, wrongPhone: message.recipient, at };
    await correctCustomerPhone(tx, merchantId, conversationId, correction);
    const retry = { id: message.id, recipient: parsed.phone, country, defaultCountry };
    // Somebody else may have been faster.
    if ((await retryDelivery(tx, merchantId, retry, who, at)) !== 'queued') throw deliveryNotFailed();
    const event = { what: 'notification.recipient_changed', merchantId, who, at } as const;
    await recordEvent(tx, { ...event, about: { notification_id: id } });
  });
}
