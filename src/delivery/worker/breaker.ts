import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import { wakeQueues } from '../queue/release.ts';
import { type ChannelStop, clearBreaker, listStops, refusedStop, stopChannel, takeProbe } from './stops.ts';

/**
 * Keeps workers from using channels that do not work now: those that refuse us, and those that do not answer. After
 * five time-outs in a row a channel's circuit breaker opens. A single message probes it from time to time, and the
 * first answer closes it. The state is in the database, and all processes follow it.
 */
export interface Breaker {
  /** Reads what other processes have written. Call it before each claim. */
  refresh(): Promise<void>;
  /** Whether messages may go through this channel now: all, one as a probe, or none before that time. */
  gate(channelId: string): Promise<'open' | 'probe' | { until: string }>;
  /** Call it after each attempt that called the channel. `isProbe`: this attempt was allowed as a probe. */
  report(channelId: string, code: string | undefined, isProbe: boolean): Promise<void>;
  /** The probe was not used: another message may be the probe. */
  returnProbe(channelId: string): Promise<void>;
  /** The channel refuses everything we send. */
  stop(channelId: string, code: string, untilResumed: boolean): Promise<void>;
}

interface BreakerParts {
  database: Database;
  log: Logger;
  now: () => Date;
}

const TIMEOUTS_MAX = 5;
/** Doubles with every probe that fails. */
const PROBE_FIRST_MS = 5000;
const PROBE_MAX_MS = 60_000;
/** Longer than an attempt takes. */
const PROBE_LEASE_MS = 15_000;

const isTimeout = (code: string | undefined) => code !== undefined && /TIMEOUT|ETIMEDOUT/.test(code);

export function createBreaker({ database, log, now }: BreakerParts): Breaker {
  const timeouts = new Map<string, number>();
  let stops = new Map<string, ChannelStop>();
  /** How often this process has changed the stops. */
  let changes = 0;

  async function refresh(): Promise<void> {
    const before = stops;
    const seen = changes;
    const listed = await listStops(database, now());
    // What it has just written itself may be missing there: messages would go to a channel that was just stopped.
    if (seen !== changes) return refresh();
    stops = new Map(listed.map((stop) => [stop.channel_id, stop]));
    // Another process has closed it, so time-outs are counted from zero.
    for (const channelId of before.keys()) if (!stops.has(channelId)) timeouts.delete(channelId);
  }

  function remember(channelId: string, stop: ChannelStop | undefined): void {
    changes += 1;
    if (stop) stops.set(channelId, stop);
    else stops.delete(channelId);
  }

  async function write(stop: ChannelStop): Promise<void> {
    await stopChannel(database, stop, now());
    remember(stop.channel_id, stop);
  }

  async function notAnswering(channelId: string, code: string, isProbe: boolean): Promise<void> {
    const count = (timeouts.get(channelId) ?? 0) + 1;
    timeouts.set(channelId, count);
    const stop = stops.get(channelId);
    const isOpen = stop?.kind === 'not_answering';
    // Calls that were already running when it opened add no information.
    if (isOpen ? !isProbe : count < TIMEOUTS_MAX) return;
    if (!isOpen) log.warn({ channel: channelId, code }, 'the channel does not answer: circuit breaker open');
    const probes = isOpen ? stop.probes + 1 : 0;
    const pauseMs = Math.min(PROBE_FIRST_MS * 2 ** probes, PROBE_MAX_MS);
    const until = new Date(now().getTime() + pauseMs);
    await write({
      channel_id: channelId,
      kind: 'not_answering',
      code,
      stopped_at: stop?.stopped_at ?? now().toISOString(),
      until: until.toISOString(),
      probes,
    });
    // These queues rest for as long as the probe could have taken.
    if (isOpen) await wakeQueues(database, [stop.until], until);
  }

  async function answering(channelId: string): Promise<void> {
    timeouts.delete(channelId);
    if (stops.get(channelId)?.kind !== 'not_answering') return;
    const restingUntil = await clearBreaker(database, channelId);
    remember(channelId, undefined);
    log.info({ channel: channelId }, 'the channel answers again: circuit breaker closed');
    await wakeQueues(database, restingUntil, now());
  }

  return {
    refresh,
    async gate(channelId) {
      const stop = stops.get(channelId);
      if (!stop) return 'open';
      if (stop.until > now().toISOString()) return { until: stop.until };
      if (stop.kind === 'refused') return 'open';
      const until = new Date(now().getTime() + PROBE_LEASE_MS);
      const mayProbe = await takeProbe(database, stop, until);
      remember(channelId, { ...stop, until: until.toISOString() });
      return mayProbe ? 'probe' : { until: until.toISOString() };
    },
    report: (channelId, code, isProbe) =>
      isTimeout(code) ? notAnswering(channelId, code!, isProbe) : answering(channelId),
    async returnProbe(channelId) {
      const stop = stops.get(channelId);
      if (stop) await takeProbe(database, stop, now());
    },
    stop(channelId, code, untilResumed) {
      timeouts.delete(channelId);
      return write(refusedStop(channelId, code, now(), untilResumed));
    },
  };
}
