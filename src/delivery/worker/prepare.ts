import type { Database } from '../../database/database.ts';
import type { Channel, Form, Outgoing } from '../channels/channel.ts';
import type { Claimed } from '../queue/claim.ts';
import { markQuotaUser } from '../queue/quotaUse.ts';
import type { Settlement } from '../queue/settle.ts';
import { NEVER } from '../queue/table.ts';
import { reserveQuota } from '../quota.ts';

/** The work between claiming a message and trying to send it. */

interface PrepareParts {
  database: Database;
  defaultDailyLimit: number;
  now: () => Date;
}

export type Prepared =
  | { send: Form; message: Outgoing }
  /** Not now. `recheck` returns whether what it waits for may have happened in the meantime. */
  | { settlement: Settlement; recheck?: () => Promise<boolean> };

/** The longest attempt: a channel's time-out, plus the wait for its turn. With less of the lease left, none is made. */
const ATTEMPT_MAX_MS = 12_000;

export async function prepare(parts: PrepareParts, channel: Channel, delivery: Claimed): Promise<Prepared> {
  const { now } = parts;
  const message = outgoing(delivery);
  const plan = await channel.plan(message);
  if ('wait' in plan) {
    return {
      settlement: {
        state: 'waiting',
        waitingFor: 'customer',
        dueAt: new Date(NEVER),
        reason: plan.reason,
        notCounted: true,
      },
      recheck: async () => 'go' in (await channel.plan(message)),
    };
  }
  if ('until' in plan) {
    const { until: dueAt, reason } = plan;
    return { settlement: { state: 'queued', dueAt, reason, notCounted: true } };
  }
  if ('drop' in plan) return { settlement: { state: 'cancelled', reason: plan.drop, notCounted: true } };
  if (delivery.mode === 'campaign' || plan.go === 'template') {
    const freeAt = await waitForQuota(parts, delivery);
    if (freeAt) {
      return {
        settlement: {
          state: 'waiting',
          waitingFor: 'limit',
          dueAt: freeAt,
          reason: `The daily messaging limit is reached. It will be sent from ${freeAt.toISOString()} on.`,
          notCounted: true,
        },
      };
    }
  }
  // A slow database has used up the lease: another worker may be about to send it.
  if (Date.parse(delivery.due_at) - now().getTime() < ATTEMPT_MAX_MS) {
    return { settlement: { state: 'queued', notCounted: true } };
  }
  return { send: plan.go, message };
}

async function waitForQuota(
  { database, defaultDailyLimit, now }: PrepareParts,
  { merchant_id: merchantId, id, key, recipient }: Claimed,
): Promise<Date | undefined> {
  await markQuotaUser(database, merchantId, id);
  const user = { merchantId, id, key, recipient };
  const reservation = await reserveQuota(database, user, defaultDailyLimit, now());
  return reservation.reserved ? undefined : reservation.freeAt;
}

const outgoing = (delivery: Claimed): Outgoing => ({
  merchantId: delivery.merchant_id,
  key: delivery.key,
  deliveryId: delivery.id,
  notificationId: delivery.notification_id,
  conversationId: delivery.conversation_id,
  reference: delivery.reference,
  context: delivery.context,
  recipient: delivery.recipient,
  mode: delivery.mode,
  content: delivery.content,
  createdAt: delivery.created_at,
  attempts: delivery.attempts,
  replyTo: delivery.reply_to_message,
});
