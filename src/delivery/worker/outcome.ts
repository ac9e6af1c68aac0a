import type { ChannelType, SendResult } from '../channels/channel.ts';
import { SETTLE_MS, type Settlement } from '../queue/settle.ts';

/** What the result of an attempt means for its delivery. Pure. */

const DAY_MS = 24 * 60 * 60_000;
/** Pauses are up to a tenth longer, so that many messages do not come back at the same moment. */
const JITTER = 0.1;

interface Context {
  type: ChannelType;
  attempts: number;
  at: Date;
  /** From 0 to 1. */
  random: number;
}

export function settlementOf(result: SendResult, { type, attempts, at, random }: Context): Settlement {
  const inSeconds = (seconds: number) => new Date(at.getTime() + seconds * 1000);
  const attemptsMax = type.retryPausesSeconds.length + 1;
  const retry = (code: string, pauseSeconds?: number, max = attemptsMax, reason?: string): Settlement => {
    if (attempts >= max) {
      return {
        state: 'failed',
        code,
        reason: reason ?? `It could not be delivered in ${attempts} attempts.`,
      };
    }
    const pause = (type.retryPausesSeconds[attempts - 1] ?? 0) * (1 + JITTER * random);
    return {
      state: 'queued',
      // A channel may ask for a longer pause, but not for one so short that all attempts are used up in seconds.
      dueAt: inSeconds(Math.max(pauseSeconds ?? 0, pause)),
      code,
      ...(reason === undefined ? {} : { reason }),
    };
  };

  switch (result.outcome) {
    case 'sent':
      return { state: result.state, messageId: result.messageId };
    case 'retry':
      return result.notCounted
        ? { state: 'queued', dueAt: inSeconds(result.afterSeconds ?? 1), code: result.code, notCounted: true }
        : retry(result.code, result.afterSeconds, result.attemptsMax, result.reason);
    case 'unknown':
      if (attempts >= attemptsMax) {
        const reason = `After ${attempts} attempts it is unknown whether it arrived.`;
        return { state: 'failed', code: result.code, reason };
      }
      return type.reportsStatus
        ? { state: 'sending', unsettled: true, dueAt: inSeconds(SETTLE_MS / 1000), code: result.code }
        : retry(result.code);
    case 'window_closed':
      // If it happens twice, the window is not the cause: handle it like any other refusal.
      return attempts > 2 ? retry(result.code) : { state: 'queued', code: result.code };
    case 'wait_a_day':
      return {
        state: 'queued',
        dueAt: new Date(at.getTime() + DAY_MS),
        code: result.code,
        reason: result.reason,
      };
    case 'failed':
      return { state: 'failed', code: result.code, reason: result.reason };
    case 'channel_stopped':
      // Due immediately, because the merchant's queue rests while its channel is stopped.
      return {
        state: 'queued',
        code: result.code,
        reason:
          'The channel is stopped. The operator has been informed. The message will be sent afterwards.',
        notCounted: true,
      };
  }
}
