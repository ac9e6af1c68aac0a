import { recordEvent, type Who } from '../../../audit/record.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import type { Queries } from '../../../database/database.ts';
import { ownIdIn } from '../../../database/ids.ts';
import type { CountryCode } from '../../phone.ts';
import { readAddress } from '../enqueue.ts';
import { type DeliveryEvent, insertHistory } from '../events.ts';
import { type DeliveryState, isNotErased, makeQueueDue, NOT_TAKEN_BACK, TAKEN_BACK } from '../table.ts';

/** Sending again by hand. It leaves an audit event, like the other manual changes. */

/** For numbers without a country code. */
export interface Countries {
  country: CountryCode | undefined;
  defaultCountry: CountryCode | undefined;
}

export type RetryResult = 'queued' | 'not_found' | 'not_failed' | 'bad_number';

/** As it was read: what has changed since stays as it is. */
export interface Retried {
  id: number;
  recipient: string;
  state: DeliveryState;
  /** Another number. */
  to?: string | undefined;
}

/** Puts one failed or cancelled delivery back into the queue, to another number if one is given. */
export async function retryDelivery(
  tx: Queries,
  merchantId: MerchantId,
  { id, recipient, ...countries }: { id: number; recipient: string | undefined } & Countries,
  by: Who,
  at: Date,
): Promise<RetryResult> {
  const row = await tx.one<Retried & { last_code: string | null }>(
    `select id, recipient, last_code, state from deliveries
      where merchant_id = $1 and endpoint_id = 0 and id = $2`,
    [merchantId, id],
  );
  if (!row) return 'not_found';
  if ((row.state !== 'failed' && row.state !== 'cancelled') || row.last_code === TAKEN_BACK)
    return 'not_failed';
  const one = [{ ...row, to: recipient }];
  const { queued, badNumbers } = await requeue(tx, merchantId, one, countries, at);
  if (badNumbers.length > 0) return 'bad_number';
  // Somebody else was faster.
  if (queued.length === 0) return 'not_failed';
  await recordEvent(tx, { what: 'delivery.retried', merchantId, who: by, at, about: { delivery_id: id } });
  return 'queued';
}

/** Puts these failed deliveries back into the queue. */
export async function retryDeliveries(
  tx: Queries,
  merchantId: MerchantId,
  rows: readonly Retried[],
  countries: Countries,
  by: Who,
  at: Date,
): Promise<Requeued> {
  const done = await requeue(tx, merchantId, rows, countries, at);
  if (done.queued.length > 0) {
    const event = { what: 'delivery.retried', merchantId, who: by, at, about: { state: 'failed' } } as const;
    await recordEvent(tx, { ...event, count: done.queued.length });
  }
  return done;
}

/** The ids of those that are in the queue again, and of those without a valid number, which stay as they are. */
interface Requeued {
  queued: number[];
  badNumbers: number[];
}

export async function requeue(
  tx: Queries,
  merchantId: MerchantId,
  rows: readonly Retried[],
  countries: Countries,
  at: Date,
): Promise<Requeued> {
  const done = await putBack(tx, merchantId, rows, countries, at);
  if (done.queued.length > 0) {
    const time = at.toISOString();
    await insertHistory(tx, merchantId, sentAgain(done.queued, time));
    await makeQueueDue(tx, merchantId, time);
  }
  return done;
}

export const sentAgain = (ids: readonly number[], at: string): DeliveryEvent[] =>
  ids.map((deliveryId) => ({ deliveryId, at, state: 'queued', note: 'Sent again by hand.' }));

/**
 * Those that keep their number are one statement: with a statement for each, sending 2,000 again took half of its time
 * for the way to PostgreSQL and back, and too long for a request if the way is slow. Locks them in the order of the ids:
 * see `Transaction`.
 */
export async function putBack(
  tx: Queries,
  merchantId: MerchantId,
  rows: readonly Retried[],
  { country, defaultCountry }: Countries,
  at: Date,
): Promise<Requeued> {
  const badNumbers: number[] = [];
  const groups = new Map<string, { ids: number[]; recipient: string | null; state: DeliveryState }>();
  for (const { id, recipient, state, to = recipient } of rows) {
    const address = readAddress({ recipient: to, country: country ?? null }, defaultCountry);
    if (address.state === 'failed') {
      badNumbers.push(id);
      continue;
    }
    const changed = address.recipient === recipient ? null : address.recipient;
    const name = `${state} ${changed}`;
    const group = groups.get(name) ?? { ids: [], recipient: changed, state };
    group.ids.push(id);
    groups.set(name, group);
  }
  const ids = [...groups.values()].flatMap((group) => group.ids);
  if (tx.engine === 'postgres' && ids.length > 1)
    await tx.all(`select id from deliveries where ${ownIdIn(tx, '$1', '$2')} order by id for no key update`, [
      merchantId,
      ids,
    ]);
  const queued: number[] = [];
  for (const group of groups.values()) {
    const changed = await tx.run<{ id: number }>(
      `update deliveries set state = 'queued', recipient = coalesce($3, recipient), attempts = 0, due_at = $4,
          reason = null, last_code = null, waiting_for = null, channel_message_id = null, updated_at = $4,
          requeued_at = $4, attention_at = null
        where ${ownIdIn(tx, '$1', '$2')} and state = $5 and ${NOT_TAKEN_BACK} and ${isNotErased('deliveries', '$1')}
        returning id`,
      [merchantId, group.ids, group.recipient, at.toISOString(), group.state],
    );
    queued.push(...changed.map(({ id }) => id));
  }
  return { queued: queued.sort((a, b) => a - b), badNumbers };
}
