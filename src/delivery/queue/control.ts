import { recordEvent, type Who } from '../../audit/record.ts';
import type { EventName } from '../../contract/auditEvents.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Queries, Transaction } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import type { CountryCode } from '../phone.ts';
import { readAddress } from './enqueue.ts';
import { recordSteps } from './events.ts';
import { releaseQuota } from './quotaUse.ts';
import { type Lane, lockLanes, releaseAndRecord } from './release.ts';
import { type DeliveryState, NEVER, NO_NOTIFICATION, queueStep, TAKEN_BACK } from './table.ts';

/** Manual changes to deliveries, by a merchant or an operator. Each leaves an audit event. */

interface Controlled extends Lane {
  id: number;
  key: string;
  last_code: string | null;
}

/** For numbers without a country code. */
export interface Countries {
  country: CountryCode | undefined;
  defaultCountry: CountryCode | undefined;
}

export type RetryResult = 'queued' | 'not_found' | 'not_failed' | 'bad_number';

/** Puts one failed or cancelled delivery back into the queue, to another number if one is given. */
export async function retryDelivery(
  tx: Queries,
  merchantId: MerchantId,
  { id, recipient, ...countries }: { id: number; recipient: string | undefined } & Countries,
  by: Who,
  at: Date,
): Promise<RetryResult> {
  const row = await tx.one<Controlled & { state: string }>(
    `select id, key, recipient, mode, last_code, state from deliveries
      where merchant_id = $1 and endpoint_id = 0 and id = $2`,
    [merchantId, id],
  );
  if (!row) return 'not_found';
  if (row.state !== 'failed' && row.state !== 'cancelled') return 'not_failed';
  const one = [{ ...row, recipient: recipient ?? row.recipient }];
  const { changed, badNumbers } = await requeue(tx, merchantId, one, countries, at);
  if (badNumbers > 0) return 'bad_number';
  // Somebody else was faster.
  if (changed === 0) return 'not_failed';
  await recordEvent(tx, { what: 'delivery.retried', merchantId, who: by, at, about: { delivery_id: id } });
  return 'queued';
}

/** Puts these failed deliveries back into the queue. */
export async function retryDeliveries(
  tx: Queries,
  merchantId: MerchantId,
  rows: readonly Pick<Controlled, 'id' | 'recipient'>[],
  countries: Countries,
  by: Who,
  at: Date,
): Promise<Changed> {
  const done = await requeue(tx, merchantId, rows, countries, at);
  if (done.changed > 0) {
    const event = { what: 'delivery.retried', merchantId, who: by, at, about: { state: 'failed' } } as const;
    await recordEvent(tx, { ...event, count: done.changed });
  }
  return done;
}

interface Changed {
  changed: number;
  badNumbers: number;
}

/** Those without a valid number stay as they are. */
async function requeue(
  tx: Queries,
  merchantId: MerchantId,
  rows: readonly Pick<Controlled, 'id' | 'recipient'>[],
  { country, defaultCountry }: Countries,
  at: Date,
): Promise<Changed> {
  const time = at.toISOString();
  const queued: number[] = [];
  let badNumbers = 0;
  for (const { id, recipient } of rows) {
    const address = readAddress({ recipient, country: country ?? null }, defaultCountry);
    if (address.state === 'failed') {
      badNumbers += 1;
      continue;
    }
    const done = await tx.run(
      `update deliveries set state = 'queued', recipient = $3, attempts = 0, due_at = $4, reason = null,
          last_code = null, waiting_for = null, channel_message_id = null, updated_at = $4, requeued_at = $4,
          attention_at = null
        where merchant_id = $1 and id = $2 and state in ('failed', 'cancelled') returning id`,
      [merchantId, id, address.recipient, time],
    );
    if (done.length > 0) queued.push(id);
  }
  if (queued.length > 0) {
    const note = 'Sent again by hand.';
    const events = queued.map((deliveryId) => ({ deliveryId, at: time, state: 'queued' as const, note }));
    await tx.chain([...recordSteps(merchantId, events), queueStep(merchantId, time)]);
  }
  return { changed: queued.length, badNumbers };
}

/** Cancels one delivery that has not been sent. */
export async function cancelDelivery(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  by: Who,
  at: Date,
): Promise<'cancelled' | 'not_found' | 'not_cancellable'> {
  const row = await tx.one(
    'select id from deliveries where merchant_id = $1 and endpoint_id = 0 and id = $2',
    [merchantId, id],
  );
  if (!row) return 'not_found';
  if ((await cancel(tx, merchantId, [id], at)) === 0) return 'not_cancellable';
  await recordEvent(tx, { what: 'delivery.cancelled', merchantId, who: by, at, about: { delivery_id: id } });
  return 'cancelled';
}

/**
 * Takes back a message that somebody wrote without a notification. Nobody sees it then. Only before a worker has claimed
 * it: afterwards nobody knows in time whether it was sent.
 */
export async function takeBack(
  tx: Transaction,
  merchantId: MerchantId,
  { id, conversationId }: { id: number; conversationId: number },
  by: Who,
  at: Date,
): Promise<'taken_back' | 'not_found' | 'too_late'> {
  const row = await tx.one<{ state: DeliveryState }>(
    `select state from deliveries
      where merchant_id = $1 and endpoint_id = 0 and id = $2 and conversation_id = $3 and notification_id = ${NO_NOTIFICATION}`,
    [merchantId, id, conversationId],
  );
  if (!row) return 'not_found';
  if (!['queued', 'waiting'].includes(row.state)) return 'too_late';
  if ((await cancel(tx, merchantId, [id], at, TAKEN_BACK)) === 0) return 'too_late';
  await recordEvent(tx, { what: 'delivery.cancelled', merchantId, who: by, at, about: { delivery_id: id } });
  return 'taken_back';
}

/** A message that is being sent cannot be cancelled. */
async function cancel(
  tx: Transaction,
  merchantId: MerchantId,
  ids: readonly number[],
  at: Date,
  code?: typeof TAKEN_BACK,
): Promise<number> {
  const time = at.toISOString();
  await lockLanes(tx, merchantId);
  const rows = await tx.run<Controlled>(
    `update deliveries set state = 'cancelled', due_at = $3, waiting_for = null, reason = null, updated_at = $3,
        last_code = coalesce($4, last_code)
      where ${ownIdIn(tx.engine, '$1', '$2')} and state in ('queued', 'waiting', 'failed')
      returning id, key, recipient, mode, last_code`,
    [merchantId, ids, time, code ?? null],
  );
  if (rows.length === 0) return 0;
  const quotaFree = await releaseQuota(tx, merchantId, rows, at);
  await releaseAndRecord(tx, merchantId, {
    lanes: rows,
    events: rows.map(({ id }) => ({ deliveryId: id, at: time, state: 'cancelled' })),
    dueAt: quotaFree ? time : NEVER,
    at,
  });
  return rows.length;
}

const BATCH_SIZE = 100;
/** How many one call changes. The rest needs another call. */
const MANY_MAX = 2000;

export interface ManyResult {
  /** How many were changed. */
  count: number;
  /** How many have no valid number, and stay as they are. */
  skipped: number;
  /** Whether some are left: call again with `after_id`. */
  more: boolean;
  /** The last one that this call looked at. */
  after_id: number;
}

interface Selected<State extends string> {
  state: State;
  since: Date | undefined;
  afterId: number;
}

/** All of a merchant's deliveries in this state whose state is not older than `since`, oldest first. */
async function changeMany(
  database: Database,
  merchantId: MerchantId,
  { state, since, afterId }: Selected<string>,
  event: { what: EventName; who: Who },
  now: () => Date,
  change: (tx: Transaction, rows: readonly Controlled[], at: Date) => Promise<Changed>,
): Promise<ManyResult> {
  const result: ManyResult = { count: 0, skipped: 0, more: false, after_id: afterId };
  for (let looked = 0; ; ) {
    const rows = await database.all<Controlled>(
      `select id, key, recipient, mode, last_code from deliveries
        where merchant_id = $1 and endpoint_id = 0 and state = $2 and id > $3 and updated_at >= $4 order by id limit ${BATCH_SIZE}`,
      [merchantId, state, result.after_id, since?.toISOString() ?? ''],
    );
    if (rows.length === 0) return result;
    if (looked >= MANY_MAX) return { ...result, more: true };
    const at = now();
    const { changed, badNumbers } = await database.transaction(async (tx) => {
      const done = await change(tx, rows, at);
      // The batches of a call add to the count of one event.
      if (done.changed > 0)
        await recordEvent(tx, { ...event, merchantId, at, about: { state }, count: done.changed });
      return done;
    });
    result.count += changed;
    result.skipped += badNumbers;
    result.after_id = rows.at(-1)!.id;
    looked += rows.length;
  }
}

export const retryMany = (
  database: Database,
  merchantId: MerchantId,
  selected: Selected<'failed' | 'cancelled'>,
  countries: Countries,
  by: Who,
  now: () => Date,
): Promise<ManyResult> =>
  changeMany(database, merchantId, selected, { what: 'delivery.retried', who: by }, now, (tx, rows, at) =>
    requeue(tx, merchantId, rows, countries, at),
  );

export const cancelMany = (
  database: Database,
  merchantId: MerchantId,
  selected: Selected<'queued' | 'waiting' | 'failed'>,
  by: Who,
  now: () => Date,
): Promise<ManyResult> =>
  changeMany(
    database,
    merchantId,
    selected,
    { what: 'delivery.cancelled', who: by },
    now,
    async (tx, rows, at) => {
      const ids = rows.map(({ id }) => id);
      return { changed: await cancel(tx, merchantId, ids, at), badNumbers: 0 };
    },
  );
