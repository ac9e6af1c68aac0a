import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Queries, Transaction } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import type { Claimed } from './claim.ts';
import { type DeliveryEvent, lastEvents, recordEvents } from './events.ts';
import { releaseQuota } from './quotaUse.ts';
import { lockLanes, releaseAndRecord } from './release.ts';
import { type DeliveryState, makeQueueDue, NEVER, OPEN, textOrNull } from './table.ts';

/** Writes the outcomes of attempts. */

/** How long a channel's status may settle an unknown outcome before the message is sent again. */
export const SETTLE_MS = 60_000;

export interface Settlement {
  state: DeliveryState;
  /** When it is due next, if it is still open. The default is now. */
  dueAt?: Date;
  waitingFor?: 'limit' | 'customer';
  /** For the merchant. */
  reason?: string;
  code?: string;
  messageId?: string | undefined;
  /** It is unknown whether this attempt was sent. */
  unsettled?: boolean;
  /** This does not count as an attempt: the channel was not called. */
  notCounted?: boolean;
}

export interface Outcome {
  delivery: Claimed;
  settlement: Settlement;
}

const isOpen = (state: DeliveryState) => OPEN.includes(`'${state}'`);

/**
 * Writes the outcomes of one queue's attempts, all or nothing, and returns the ids of those that were written. An
 * outcome is written only while its worker still holds the lease. Otherwise something newer is already written: by a
 * status that came before the channel's own answer, or by another worker after the lease was lost.
 */
export async function settle(
  tx: Transaction,
  merchantId: MerchantId,
  outcomes: readonly Outcome[],
  at: Date,
): Promise<ReadonlySet<number>> {
  // Only one transaction at a time finishes messages of a merchant: with two, the next of a lane could stay blocked.
  await lockLanes(tx, merchantId);
  // In the order of their ids: see `Transaction`.
  const sorted = [...outcomes].sort((a, b) => a.delivery.id - b.delivery.id);
  const settled = await Promise.all(sorted.map((outcome) => settleOne(tx, merchantId, outcome, at)));
  const written = sorted.filter((_, index) => settled[index]);
  await follow(tx, merchantId, written, at);
  return new Set(written.map(({ delivery }) => delivery.id));
}

async function settleOne(
  tx: Queries,
  merchantId: MerchantId,
  { delivery, settlement }: Outcome,
  at: Date,
): Promise<boolean> {
  const time = at.toISOString();
  const rows = await tx.run(
    `update deliveries set state = $5, due_at = $6, waiting_for = $7, reason = $8, last_code = $9,
        channel_message_id = coalesce($10, channel_message_id), unsettled_since = $11,
        attempts = attempts - cast($12 as integer), updated_at = $13
      where merchant_id = $1 and id = $2 and state = 'sending' and attempts = $3 and due_at = $4 returning id`,
    [
      ...[merchantId, delivery.id, delivery.attempts, delivery.due_at],
      ...[settlement.state, (settlement.dueAt ?? at).toISOString(), settlement.waitingFor ?? null],
      ...[textOrNull(settlement.reason), textOrNull(settlement.code), textOrNull(settlement.messageId)],
      ...[settlement.unsettled ? time : null, settlement.notCounted ? 1 : 0, time],
    ],
  );
  return rows.length > 0;
}

/** Releases quota and the next messages, and records the events, for the outcomes that were written. */
async function follow(
  tx: Queries,
  merchantId: MerchantId,
  written: readonly Outcome[],
  at: Date,
): Promise<void> {
  if (written.length === 0) return;
  const finished = written.filter(({ settlement }) => !isOpen(settlement.state));
  const failed = finished.filter(({ settlement }) => settlement.state === 'failed');
  const deliveriesOf = (list: readonly Outcome[]) => list.map(({ delivery }) => delivery);
  const failedIds = deliveriesOf(failed).map(({ id }) => id);
  const quotaFree = failed.length > 0 && (await releaseQuota(tx, merchantId, failedIds, at));
  const events = await newEvents(tx, merchantId, written, at);
  const dueTimes = written
    .filter(({ settlement }) => isOpen(settlement.state))
    .map(({ settlement }) => (settlement.dueAt ?? at).toISOString());
  if (quotaFree) dueTimes.push(at.toISOString());
  await releaseAndRecord(tx, merchantId, {
    endpointId: written[0]!.delivery.endpoint_id,
    lanes: deliveriesOf(finished),
    events,
    messages: deliveriesOf(written),
    dueAt: dueTimes.sort()[0] ?? NEVER,
    at,
  });
}

/** A message that was put back unchanged gets no new event. */
async function newEvents(
  tx: Queries,
  merchantId: MerchantId,
  written: readonly Outcome[],
  at: Date,
): Promise<DeliveryEvent[]> {
  const events = written.map(({ delivery, settlement }) => ({
    deliveryId: delivery.id,
    at: at.toISOString(),
    state: settlement.state,
    code: settlement.code,
    note: settlement.reason,
    channelId: settlement.notCounted ? undefined : (delivery.channel_id ?? undefined),
  }));
  const putBack = written
    .filter(({ settlement }) => settlement.notCounted)
    .map(({ delivery }) => delivery.id);
  if (putBack.length === 0) return events;
  const last = await lastEvents(tx, merchantId, putBack);
  return events.filter(({ deliveryId, state, code, note }) => {
    const before = last.get(deliveryId);
    return (
      !before || before.state !== state || before.code !== (code ?? null) || before.note !== (note ?? null)
    );
  });
}

/**
 * The workers that sent these are gone, but their channel reports what happened to a message. It has `SETTLE_MS` for
 * that before they are sent again. They keep the channel of that attempt.
 */
export async function waitForStatus(
  database: Database,
  merchantId: MerchantId,
  lost: { deliveries: readonly { id: number }[]; channelId: string; at: Date },
): Promise<void> {
  const time = lost.at.toISOString();
  const dueAt = new Date(lost.at.getTime() + SETTLE_MS).toISOString();
  await database.transaction(async (tx) => {
    const rows = await tx.run<{ id: number; channel_id: string }>(
      `update deliveries set unsettled_since = $3, due_at = $4, channel_id = coalesce(channel_id, $5), updated_at = $3
        where ${ownIdIn(tx, '$1', '$2')} and state = 'sending' and unsettled_since is null
          and due_at <= $3
        returning id, channel_id`,
      [merchantId, lost.deliveries.map(({ id }) => id), time, dueAt, lost.channelId],
    );
    if (rows.length === 0) return;
    const events = rows.map(({ id, channel_id }) => ({
      deliveryId: id,
      at: time,
      state: 'sending' as const,
      channelId: channel_id,
    }));
    await recordEvents(tx, merchantId, [], events);
    await makeQueueDue(tx, merchantId, dueAt);
  });
}
