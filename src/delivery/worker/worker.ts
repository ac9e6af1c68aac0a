import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CHANGES, type Database } from '../../database/database.ts';
import { createHoldCheck } from '../../database/sendingHold.ts';
import { currentSpan, type Tracer, traced } from '../../tracing.ts';
import type { Channel, EndpointChannels, SendResult } from '../channels/channel.ts';
import type { Channels } from '../channels/merchantChannels.ts';
import { knownCode, type OnFailed } from '../failures.ts';
import { type Claimed, nextDueAt, wakeLateQueues } from '../queue/claim.ts';
import { DELIVERIES } from '../queue/enqueue.ts';
import { releaseWaitingFor } from '../queue/release.ts';
import type { Settlement } from '../queue/settle.ts';
import { MESSAGES } from '../queue/table.ts';
import { createAttention } from './attention.ts';
import { createBreaker } from './breaker.ts';
import { settlementOf } from './outcome.ts';
import { prepare } from './prepare.ts';
import { createSideJob } from './sideJob.ts';
import { createSlots } from './slots.ts';
import { createTurns, type Round } from './turns.ts';
import { createOutcomeWriter } from './writer.ts';

export interface WorkerParts {
  database: Database;
  channels: Channels;
  endpoints?: EndpointChannels;
  log: Logger;
  now: () => Date;
  /** How many messages are sent at the same time, in all and through one channel. */
  concurrency: { total: number; perChannel: number };
  /** Processes what channels have reported, and returns how many reports that was. */
  processStatuses?: () => Promise<number>;
  /** Counts the result of every attempt. */
  onAttempt: (channel: string, outcome: string, code: string) => void;
  /** Called when a message has failed for good. */
  onFailed?: OnFailed;
  /** Absent without tracing. */
  tracer?: Tracer | undefined;
}

export interface Worker {
  /** There may be something to do. */
  wake(): void;
  /** Resolves when nothing is due and nothing is being sent. */
  idle(): Promise<void>;
  /** Waits until what is being sent is finished. */
  stop(): Promise<void>;
}

/** Wake-up calls may be lost with their connection. */
const POLL_MS = 2000;
/** A free slot normally wakes the worker, so these are upper bounds. */
const WAIT_MS = { nothing: POLL_MS, capped: 100, held: POLL_MS, failed: POLL_MS } as const;
/** Wake-up calls within this time share one claim. */
const CLAIM_EVERY_MS = 10;
/** Changes within this time share one look for new events. */
const DISPATCH_EVERY_MS = 20;
/** With many endpoints a look takes long. It takes at most a tenth of the time. */
const DISPATCH_SHARE = 10;
/** The pause after an internal error before the attempt. */
const PUT_BACK_MS = 5000;
/** At the start, statuses are processed first. If they keep coming, sending starts after this time. */
const STATUSES_FIRST_MS = 5000;

/** Results that do not come from the channel itself: they say nothing about whether it answers. */
const NOT_CALLED = new Set(['NO_PHONE_NUMBER', 'ADDRESS_REFUSED', 'CHANNEL_ERROR']);

const wasCalled = (result: SendResult): boolean =>
  result.outcome !== 'channel_stopped' &&
  !('notCounted' in result && result.notCounted) &&
  !('code' in result && NOT_CALLED.has(result.code));

export function startWorker(parts: WorkerParts): Worker {
  const { database, channels, log, now, onAttempt } = parts;
  const breaker = createBreaker(parts);
  const slots = createSlots(parts.concurrency, wake);
  const noticeAttention = createAttention(parts);
  const writeOutcome = createOutcomeWriter(database, now);
  const defaultDailyLimit = channels.defaultDailyLimit;
  const inFlight = new Set<Promise<void>>();
  let stopped = false;
  let woken = false;
  let wakeUp: () => void = () => {};
  let onIdle: (() => void)[] = [];
  let nothingDue = false;
  /** How long the last look that found no events took. */
  let lookMs = 0;
  let dispatchTimer: NodeJS.Timeout | undefined;
  const sideJobEnded = (count: number) => (count > 0 ? wake() : resolveIdle());
  const statuses = createSideJob(statusesDone, sideJobEnded);
  const dispatching = createSideJob(dispatched, sideJobEnded);
  const takeTurns = createTurns({ ...parts, slots, breaker, begin, isHeld: createHoldCheck(database) });
  const unsubscribe = database.listen(DELIVERIES, wake);
  const stopDispatching = parts.endpoints ? dispatchOnChanges() : () => {};
  const running = run();

  async function run(): Promise<void> {
    // A status that came while no worker ran may show that a message was sent and need not be repeated.
    const startedAt = performance.now();
    while (!stopped && performance.now() - startedAt < STATUSES_FIRST_MS && (await statusesDone()) > 0);
    await wakeLateQueues(database, now()).catch((err) => log.warn({ err }, 'cannot check the queues'));
    while (!stopped) {
      const claimedAt = performance.now();
      woken = false;
      nothingDue = false;
      statuses.start();
      const found = await takeTurns();
      nothingDue = found === 'nothing' || found === 'held';
      resolveIdle();
      if (found !== 'more') await untilWoken(found);
      const pauseMs = CLAIM_EVERY_MS - (performance.now() - claimedAt);
      if (pauseMs > 0 && !stopped) await sleep(pauseMs);
    }
  }

  function begin(channel: Channel, delivery: Claimed, isProbe: boolean): void {
    const free = slots.hold(channel);
    const work = deliverTraced(channel, delivery, isProbe)
      // It is claimed again when its lease has ended.
      .catch((err) => log.error({ err, delivery_id: delivery.id }, 'delivery interrupted'))
      .finally(() => {
        inFlight.delete(work);
        free();
        if (delivery.endpoint_id === MESSAGES) database.signal(CHANGES);
        // A message has events, and an endpoint has room for more of them.
        dispatchSoon();
        wake();
      });
    inFlight.add(work);
  }

  /** In the trace of the request that wrote the message. */
  function deliverTraced(channel: Channel, delivery: Claimed, isProbe: boolean): Promise<void> {
    const attributes = {
      'messaging.system': 'deskbell',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'deliveries',
      'messaging.message.id': delivery.key,
      'deskbell.channel': channel.type.name,
      'deskbell.merchant_id': delivery.merchant_id,
      'deskbell.delivery_id': delivery.id,
      'deskbell.attempt': delivery.attempts,
    };
    const span = { name: 'process deliveries', kind: 'consumer', attributes } as const;
    return traced(parts.tracer, { ...span, parent: delivery.traceparent ?? undefined }, () =>
      deliver(channel, delivery, isProbe),
    );
  }

  async function deliver(channel: Channel, delivery: Claimed, isProbe: boolean): Promise<void> {
    const write = async (settlement: Settlement) => {
      const isWritten = await writeOutcome({ delivery, settlement });
      if (isWritten && settlement.state === 'failed') reportFailed(channel, delivery, settlement);
    };
    const prepared = await prepare({ database, defaultDailyLimit, now }, channel, delivery).catch(
      (err: unknown) => {
        log.warn({ err, delivery_id: delivery.id }, 'cannot prepare a delivery; will retry');
        const dueAt = new Date(now().getTime() + PUT_BACK_MS);
        return { settlement: { state: 'queued', dueAt, notCounted: true } as const };
      },
    );
    if ('settlement' in prepared) {
      await write(prepared.settlement);
      // The customer may have written between the look and this.
      if ('recheck' in prepared && (await prepared.recheck?.())) {
        await database.transaction((tx) =>
          releaseWaitingFor(tx, delivery.merchant_id, delivery.recipient, now()),
        );
      }
      return;
    }
    const result = await attempt(channel, prepared);
    const code = 'code' in result ? result.code : undefined;
    onAttempt(channel.type.name, result.outcome, code === undefined ? 'none' : knownCode(code));
    const settlement = settlementOf(result, {
      type: channel.type,
      attempts: delivery.attempts,
      at: now(),
      random: Math.random(),
    });
    // Before it is queued again: otherwise it would be sent immediately through the stopped channel.
    if (result.outcome === 'channel_stopped') await stopChannel(channel, result);
    await write(settlement);
    // After writing the outcome: a sent message must be recorded as sent even if the breaker fails.
    if (wasCalled(result)) await breaker.report(channel.id, code, isProbe).catch(logBreaker);
  }

  function reportFailed(
    { type }: Channel,
    { merchant_id: merchantId, id: deliveryId, conversation_id: conversationId }: Claimed,
    { code }: Settlement,
  ): void {
    parts.onFailed?.({ merchantId, deliveryId, conversationId, channel: type.name, code });
  }

  const logBreaker = (err: unknown) => log.warn({ err }, 'cannot write the state of a channel');

  async function stopChannel(
    channel: Channel,
    { code, reason, untilResumed = false }: Extract<SendResult, { outcome: 'channel_stopped' }>,
  ): Promise<void> {
    log.error({ channel: channel.id, code, reason }, 'the channel is stopped');
    const stop = channel.stop?.(code, reason) ?? breaker.stop(channel.id, code, untilResumed);
    await stop.catch(logBreaker);
  }

  async function attempt(
    channel: Channel,
    { message, send }: { message: Parameters<Channel['send']>[0]; send: Parameters<Channel['send']>[1] },
  ): Promise<SendResult> {
    const span = {
      name: `send ${channel.type.name}`,
      kind: 'client',
      attributes: { 'deskbell.channel': channel.type.name },
      parent: currentSpan(),
    } as const;
    try {
      return await traced(parts.tracer, span, async (own) => {
        const result = await channel.send(message, send);
        own?.set({ 'deskbell.outcome': result.outcome });
        if ('code' in result) own?.fail(knownCode(result.code));
        return result;
      });
    } catch (err) {
      log.error({ err, delivery_id: message.deliveryId }, 'the channel failed');
      return { outcome: 'unknown', code: 'CHANNEL_ERROR' };
    }
  }

  async function statusesDone(): Promise<number> {
    try {
      return (await parts.processStatuses?.()) ?? 0;
    } catch (err) {
      log.warn({ err }, 'cannot read what channels have reported; will retry');
      return 0;
    }
  }

  async function dispatched(): Promise<number> {
    try {
      const startedAt = performance.now();
      // Before, because it writes events.
      const count = (await noticeAttention()) + ((await parts.endpoints?.dispatch()) ?? 0);
      // What it dispatches is work that must be done.
      lookMs = count > 0 ? 0 : performance.now() - startedAt;
      // There may be more, and these can be sent meanwhile.
      if (count > 0) dispatchAgain();
      return count;
    } catch (err) {
      log.warn({ err }, 'cannot put events into the queue; will retry');
      return 0;
    }
  }

  function dispatchAgain(): void {
    wake();
    if (!stopped) dispatching.start();
  }

  function dispatchSoon(): void {
    if (!parts.endpoints || stopped) return;
    // Whoever waits until nothing is left does not wait for the pause, too.
    if (onIdle.length > 0) {
      dispatching.start();
      return;
    }
    dispatchTimer ??= setTimeout(
      () => {
        dispatchTimer = undefined;
        dispatching.start();
      },
      Math.max(DISPATCH_EVERY_MS, DISPATCH_SHARE * lookMs),
    ).unref();
  }

  /** Every change may have written events. */
  function dispatchOnChanges(): () => void {
    const stopListening = database.listen(CHANGES, dispatchSoon);
    const poll = setInterval(dispatchSoon, POLL_MS).unref();
    dispatchSoon();
    return () => {
      stopListening();
      clearInterval(poll);
      clearTimeout(dispatchTimer);
    };
  }

  function resolveIdle(): void {
    const isDispatching = dispatchTimer !== undefined || dispatching.running() !== undefined;
    if (!nothingDue || inFlight.size > 0 || statuses.running() || isDispatching || woken) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  }

  function wake(): void {
    woken = true;
    wakeUp();
  }

  /** Waits for a wake-up call, the time when the next message is due, or the next poll. */
  async function untilWoken(found: Exclude<Round, 'more'>): Promise<void> {
    if (woken || stopped) return;
    const due = found === 'nothing' ? await nextDueAt(database).catch(() => undefined) : undefined;
    const inMs = due === undefined ? WAIT_MS[found] : Date.parse(due) - now().getTime();
    if (woken || stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(Math.max(inMs, 5), POLL_MS));
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  return {
    wake,
    idle() {
      return new Promise((resolve) => {
        onIdle.push(resolve);
        clearTimeout(dispatchTimer);
        dispatchTimer = undefined;
        dispatching.start();
        wake();
      });
    },
    async stop() {
      stopped = true;
      unsubscribe();
      stopDispatching();
      wakeUp();
      await running;
      await Promise.all(inFlight);
      await Promise.all([statuses.running(), dispatching.running()]);
    },
  };
}
