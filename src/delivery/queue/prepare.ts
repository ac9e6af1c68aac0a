import type { Database } from '../../database/database.ts';
import type { Channel, Form, Outgoing } from '../channels/channel.ts';
import type { Channels } from '../channels/merchantChannels.ts';
import { takePlace } from '../quota.ts';
import { type Claimed, type Settlement, settle } from './enqueue.ts';
import { SETTLE_MS } from './settle.ts';

/** Everything between the claim of a delivery and the attempt to send it. */

interface PrepareParts {
  database: Database;
  channels: Channels;
  now: () => Date;
}

interface Ready {
  channel: Channel;
  message: Outgoing;
  form: Form;
}

/** What an attempt may take: a channel's time-out, and its turn. With less of the lease left none is begun. */
const ATTEMPT_MAX_MS = 12_000;
const NEVER = new Date('9999-12-31T00:00:00.000Z');

/** Says how it is to be sent, or settles it and gives nothing where it is not to be sent now. */
export async function prepare(parts: PrepareParts, delivery: Claimed): Promise<Ready | undefined> {
  const { database, channels, now } = parts;
  const channel = await channels.of(delivery.merchant_id);
  const inMs = (ms: number) => new Date(now().getTime() + ms);
  const write = (change: Settlement) => database.transaction((tx) => settle(tx, delivery, change, now()));

  if (delivery.taken_over === 1 && channel.type.reportsStatus) {
    await write({ state: 'sending', unsettled: true, dueAt: inMs(SETTLE_MS), uncounted: true });
    return;
  }
  const stop = await stopOf(parts, channel);
  if (stop) {
    await write({
      state: 'queued',
      dueAt: new Date(stop.until),
      reason: 'The channel is out of order. The operator has been told; the message goes out afterwards.',
      code: stop.code,
      uncounted: true,
    });
    return;
  }
  const message = outgoing(delivery, now);
  const plan = await channel.plan(message);
  if ('wait' in plan) {
    await write({
      state: 'waiting',
      waitingFor: 'customer',
      dueAt: NEVER,
      reason: plan.reason,
      uncounted: true,
    });
    // The customer may have written between the two.
    if ('go' in (await channel.plan(message))) await releaseWaiting(parts, delivery);
    return;
  }
  if (delivery.mode === 'campaign' || plan.go === 'template') {
    const freeAt = await placeFor(parts, delivery);
    if (freeAt) {
      await write({
        state: 'waiting',
        waitingFor: 'limit',
        dueAt: freeAt,
        reason: `The day’s messaging limit is reached. It goes out from ${freeAt.toISOString()} on.`,
        uncounted: true,
      });
      return;
    }
  }
  // A slow database has used up the lease: another worker may be about to send it.
  if (Date.parse(delivery.due_at) - now().getTime() < ATTEMPT_MAX_MS) {
    await write({ state: 'queued', uncounted: true });
    return;
  }
  return { channel, message, form: plan.go };
}

async function placeFor(
  { database, channels, now }: PrepareParts,
  delivery: Claimed,
): Promise<Date | undefined> {
  const { merchant_id: merchantId, id, key, recipient } = delivery;
  await database.run(
    'update deliveries set needs_place = 1 where merchant_id = $1 and id = $2 and needs_place = 0',
    [merchantId, id],
  );
  const place = await takePlace(
    database,
    { merchantId, id, key, recipient },
    channels.defaultDailyLimit,
    now(),
  );
  return place.taken ? undefined : place.freeAt;
}

function stopOf({ database, now }: PrepareParts, channel: Channel) {
  return database.one<{ until: string; code: string }>(
    'select until, code from channel_stops where channel_id = $1 and until > $2',
    [channel.id, now().toISOString()],
  );
}

async function releaseWaiting({ database, now }: PrepareParts, { merchant_id, id }: Claimed): Promise<void> {
  await database.run(
    `update deliveries set due_at = $3 where merchant_id = $1 and id = $2 and state = 'waiting' and waiting_for = 'customer'`,
    [merchant_id, id, now().toISOString()],
  );
}

function outgoing(delivery: Claimed, now: () => Date): Outgoing {
  return {
    merchantId: delivery.merchant_id,
    key: delivery.key,
    deliveryId: delivery.id,
    notificationId: delivery.notification_id,
    conversationId: delivery.conversation_id,
    recipient: delivery.recipient,
    mode: delivery.mode,
    content: delivery.content,
    attempts: delivery.attempts,
    reference: null,
    context: '{}',
    createdAt: now().toISOString(),
  };
}
