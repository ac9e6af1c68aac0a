import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Database, Engine, Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { lockUntilCommit } from '../../database/locks.ts';
import type { Claimed } from './claim.ts';
import { type DeliveryEvent, lastEvents, recordSteps } from './events.ts';
import { releaseQuota } from './quotaUse.ts';
import { releaseAndRecord } from './release.ts';
import { type DeliveryState, NEVER, OPEN, queueStep, textOrNull } from './table.ts';

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
 * On PostgreSQL only one transaction at a time finishes messages of a merchant: with two, the next message of a lane
 * could stay blocked. Rows of a table are locked in the order of their ids. SQLite runs transactions one at a time.
 */
const LOCKS: Record<Engine, string> = {
  sqlite: '',
  postgres: `with lanes as materialized (
      select ${lockUntilCommit("concat('lanes ', merchant_id)")}
        from (select merchant_id from settled_rows limit 1) merchant),
    locked as (select d.id from lanes, settled_rows r
      join deliveries d on d.merchant_id = r.merchant_id and d.id = r.delivery_id order by d.id for update of d)`,
};
const IS_LOCKED: Record<Engine, string> = {
  sqlite: '',
  postgres: 'and delivery_id in (select locked.id from locked)',
};

/**
 * Writes the outcomes of one queue's attempts, all or nothing, and returns the ids of those that were written. An
 * outcome is written only while its worker still holds the lease. Otherwise something newer is already written: by a
 * status that came before the channel's own answer, or by another worker after the lease was lost.
 */
export async function settle(
  tx: Queries,
  merchantId: MerchantId,
  outcomes: readonly Outcome[],
  at: Date,
): Promise<ReadonlySet<number>> {
  const rows = await tx.chain<{ id: number }>([settleStep(tx.engine, merchantId, outcomes, at)]);
  const ids = new Set(rows.map(({ id }) => id));
  await follow(
    tx,
    merchantId,
    outcomes.filter(({ delivery }) => ids.has(delivery.id)),
    at,
  );
  return ids;
}

const settleStep = (
  engine: Engine,
  merchantId: MerchantId,
  outcomes: readonly Outcome[],
  at: Date,
): Step => ({
  name: 'settled',
  rows: {
    columns: {
      merchant_id: 'bigint',
      delivery_id: 'bigint',
      attempt: 'integer',
      lease: 'text',
      new_state: 'text',
      new_due_at: 'text',
      new_waiting_for: 'text',
      new_reason: 'text',
      new_code: 'text',
      new_message_id: 'text',
      new_unsettled_since: 'text',
      not_counted: 'integer',
      at: 'text',
    },
    values: outcomes.map(({ delivery, settlement }) => ({
      merchant_id: merchantId,
      delivery_id: delivery.id,
      attempt: delivery.attempts,
      lease: delivery.due_at,
      new_state: settlement.state,
      new_due_at: (settlement.dueAt ?? at).toISOString(),
      new_waiting_for: settlement.waitingFor ?? null,
      new_reason: textOrNull(settlement.reason),
      new_code: textOrNull(settlement.code),
      new_message_id: textOrNull(settlement.messageId),
      new_unsettled_since: settlement.unsettled ? at.toISOString() : null,
      not_counted: settlement.notCounted ? 1 : 0,
      at: at.toISOString(),
    })),
  },
  sql: `${LOCKS[engine]} update deliveries set state = new_state, due_at = new_due_at, waiting_for = new_waiting_for,
      reason = new_reason, last_code = new_code, channel_message_id = coalesce(new_message_id, channel_message_id),
      unsettled_since = new_unsettled_since, attempts = attempts - not_counted, updated_at = r.at
    from settled_rows r where deliveries.merchant_id = r.merchant_id and deliveries.id = r.delivery_id
      and state = 'sending' and attempts = attempt and due_at = lease ${IS_LOCKED[engine]}
    returning deliveries.id`,
});

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
    await tx.chain([...recordSteps(merchantId, events), queueStep(merchantId, dueAt)]);
  });
}
