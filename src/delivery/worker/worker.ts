import type { Logger } from 'pino';
import { CHANGES, type Database } from '../../database/database.ts';
import { createHoldCheck } from '../../database/sendingHold.ts';
import type { Job } from '../../jobs/job.ts';
import { currentSpan, type Tracer, traced } from '../../tracing.ts';
import type { Channel, EndpointChannels, SendResult } from '../channels/channel.ts';
import type { Channels } from '../channels/merchantChannels.ts';
import { knownCode, type OnFailed } from '../failures.ts';
import { type Claimed, nextDueAt, wakeLateQueues } from '../queue/claim.ts';
import { DELIVERIES } from '../queue/enqueue.ts';
import { releaseWaitingFor } from '../queue/release.ts';
import type { Settlement } from '../queue/settle.ts';
import { MESSAGES } from '../queue/table.ts';
import { noticeAttention } from './attention.ts';
import { createBreaker } from './breaker.ts';
import { settlementOf } from './outcome.ts';
import { prepare } from './prepare.ts';
import { createSlots } from './slots.ts';
import { createTurns } from './turns.ts';
import { createOutcomeWriter } from './writer.ts';

export interface WorkerParts {
  database: Database;
  channels: Channels;
  endpoints?: EndpointChannels;
  /** The jobs that fill the queues of the endpoints. */
  followers?: readonly string[];
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

const POLL_MS = 2000;
/** A free slot normally wakes the worker, so these are upper bounds. */
const WAIT_MS = { capped: 100, held: POLL_MS } as const;
/** Wake-up calls within this time share one claim. */
const CLAIM_EVERY_MS = 10;
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

/** Sends the messages that are due. Each turn claims some of them, which are then sent beside it. */
export function sendMessages(parts: WorkerParts): Job[] {
  const { database, channels, log, now, onAttempt } = parts;
  let wakeJob: (job: string) => void = () => {};
  const wake = () => wakeJob('messages');
  const breaker = createBreaker(parts);
  const slots = createSlots(parts.concurrency, wake);
  const writeOutcome = createOutcomeWriter(database, now);
  const defaultDailyLimit = channels.defaultDailyLimit;
  const inFlight = new Set<Promise<void>>();
  const takeTurns = createTurns({ ...parts, slots, breaker, begin, isHeld: createHoldCheck(database) });
  const { processStatuses = async () => 0 } = parts;
  let hasStarted = false;

  /** A status that came while no worker ran may show that a message was sent and need not be repeated. */
  async function start(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    while (
      !signal.aborted &&
      performance.now() - startedAt < STATUSES_FIRST_MS &&
      (await processStatuses()) > 0
    );
    await wakeLateQueues(database, now());
    hasStarted = true;
  }

  const messages: Job = {
    name: 'messages',
    purpose: 'claim deliveries',
    everyMs: POLL_MS,
    wakes: [DELIVERIES],
    gatherMs: CLAIM_EVERY_MS,
    inFlight,
    started: (wakeOne) => {
      wakeJob = wakeOne;
    },
    async run(_key, { signal }) {
      if (!hasStarted) await start(signal);
      const found = await takeTurns();
      if (found === 'more') return 'more';
      if (found !== 'nothing') return { againInMs: WAIT_MS[found] };
      const due = await nextDueAt(database);
      return due === undefined ? 'done' : { againInMs: Date.parse(due) - now().getTime() };
    },
  };
  const statuses: Job = {
    name: 'statuses',
    purpose: 'read what channels have reported',
    everyMs: POLL_MS,
    wakes: [DELIVERIES],
    async run() {
      if ((await processStatuses()) === 0) return 'done';
      wake();
      return 'more';
    },
  };

  function begin(channel: Channel, delivery: Claimed, isProbe: boolean): void {
    const free = slots.hold(channel);
    const work = deliverTraced(channel, delivery, isProbe)
      // It is claimed again when its lease has ended.
      .catch((err) => log.error({ err, delivery_id: delivery.id }, 'delivery interrupted'))
      .finally(() => {
        inFlight.delete(work);
        free();
        if (delivery.endpoint_id === MESSAGES) database.signal(CHANGES);
        // An endpoint has room for more events.
        else for (const job of parts.followers ?? []) wakeJob(job);
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

  return [messages, statuses, noticeAttention(parts)];
}
