import type { Logger } from 'pino';
import { CHANGES, type Database } from '../database/database.ts';
import type { Channel, Outgoing, SendResult } from './channel.ts';
import type { Channels } from './channels.ts';
import { takePlace } from './limits.ts';
import { type Claimed, claim, DELIVERIES, nextDueAt, type Settlement, settle } from './outbox.ts';
import { applyResult, SETTLE_MS } from './outcome.ts';

export interface WorkerParts {
  database: Database;
  channels: Channels;
  log: Logger;
  now: () => Date;
  /** Works off what channels have reported, and says how much that was. */
  beforeClaim?: () => Promise<number>;
  /** Counts what came of every attempt. */
  onAttempt: (channel: string, outcome: string, code: string) => void;
}

export interface Worker {
  /** There may be something to do. */
  wake(): void;
  /** Resolves when nothing is due and nothing is being sent. */
  idle(): Promise<void>;
  /** Lets what is being sent finish. */
  stop(): Promise<void>;
}

const AT_ONCE = 16;
/** The safety net under the wake-up calls. */
const POLL_MS = 2000;
/** A killed worker's claim is taken over after this; longer than any attempt lasts. */
const LEASE_MS = 20_000;
const NEVER = new Date('9999-12-31T00:00:00.000Z');

export function startWorker(parts: WorkerParts): Worker {
  const { database, channels, log, now, onAttempt } = parts;
  const inFlight = new Set<Promise<void>>();
  let stopped = false;
  let woken = false;
  let wakeUp: () => void = () => {};
  let onIdle: (() => void)[] = [];
  const deaf = database.listen(DELIVERIES, wake);
  const running = run();

  async function run(): Promise<void> {
    while (!stopped) {
      woken = false;
      const reported = await workOffReports();
      const claimed = await claimDue();
      for (const delivery of claimed) begin(delivery);
      if (claimed.length + reported + inFlight.size === 0 && !woken) {
        for (const resolve of onIdle) resolve();
        onIdle = [];
      }
      if (reported === 0 && (claimed.length === 0 || inFlight.size >= AT_ONCE)) await untilWoken();
    }
  }

  async function workOffReports(): Promise<number> {
    try {
      return (await parts.beforeClaim?.()) ?? 0;
    } catch (err) {
      log.warn({ err }, 'reports of channels cannot be read; it is tried again');
      return 0;
    }
  }

  async function claimDue(): Promise<Claimed[]> {
    const max = AT_ONCE - inFlight.size;
    if (max <= 0) return [];
    try {
      const at = now();
      return await claim(database, { max, at, leaseUntil: new Date(at.getTime() + LEASE_MS) });
    } catch (err) {
      log.warn({ err }, 'deliveries cannot be claimed; it is tried again');
      return [];
    }
  }

  function begin(delivery: Claimed): void {
    const work = deliver(delivery)
      // Its lease runs out, and it is taken up again.
      .catch((err) => log.error({ err, delivery_id: delivery.id }, 'delivery interrupted'))
      .finally(() => {
        inFlight.delete(work);
        database.signal(CHANGES);
        wake();
      });
    inFlight.add(work);
  }

  function wake(): void {
    woken = true;
    wakeUp();
  }

  /** Until somebody wakes it, the next delivery is due, or the safety net is reached. */
  async function untilWoken(): Promise<void> {
    if (woken || stopped) return;
    const due = inFlight.size >= AT_ONCE ? undefined : await nextDueAt(database).catch(() => undefined);
    const inMs = due === undefined ? POLL_MS : Date.parse(due) - now().getTime();
    if (woken || stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(Math.max(inMs, 5), POLL_MS));
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function deliver(delivery: Claimed): Promise<void> {
    const channel = await channels.of(delivery.merchant_id);
    const write = (change: Settlement) => database.transaction((tx) => settle(tx, delivery, change, now()));
    const inMs = (ms: number) => new Date(now().getTime() + ms);

    if (delivery.taken_over === 1 && channel.echoes) {
      await write({ state: 'sending', unsettled: true, dueAt: inMs(SETTLE_MS), uncounted: true });
      return;
    }
    const stop = await stopOf(channel);
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
    const message = outgoing(delivery);
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
      if ('go' in (await channel.plan(message))) await releaseWaiting(delivery);
      return;
    }
    if (delivery.mode === 'campaign' || plan.go === 'template') {
      const freeAt = await placeFor(delivery);
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
    const result = await attempt(channel, message, plan.go);
    onAttempt(channel.name, result.outcome, 'code' in result ? result.code : 'none');
    await applyResult(parts, channel, delivery, result);
  }

  async function attempt(
    channel: Channel,
    message: Outgoing,
    form: 'text' | 'template',
  ): Promise<SendResult> {
    try {
      return await channel.send(message, form);
    } catch (err) {
      log.error({ err, delivery_id: message.deliveryId }, 'the channel failed');
      return { outcome: 'unknown', code: 'CHANNEL_ERROR' };
    }
  }

  async function placeFor(delivery: Claimed): Promise<Date | undefined> {
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

  function stopOf(channel: Channel) {
    return database.one<{ until: string; code: string }>(
      'select until, code from channel_stops where channel_id = $1 and until > $2',
      [channel.id, now().toISOString()],
    );
  }

  async function releaseWaiting({ merchant_id, id }: Claimed): Promise<void> {
    await database.run(
      `update deliveries set due_at = $3 where merchant_id = $1 and id = $2 and state = 'waiting' and waiting_for = 'customer'`,
      [merchant_id, id, now().toISOString()],
    );
  }

  return {
    wake,
    idle() {
      return new Promise((resolve) => {
        onIdle.push(resolve);
        wake();
      });
    },
    async stop() {
      stopped = true;
      deaf();
      wakeUp();
      await running;
      await Promise.all(inFlight);
    },
  };
}

function outgoing(delivery: Claimed): Outgoing {
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
  };
}
