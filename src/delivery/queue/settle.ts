import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import type { Channel, SendResult } from '../channels/channel.ts';
import { givePlaceBack } from '../quota.ts';
import { type Claimed, type Settlement, settle } from './enqueue.ts';

/** How long an unknown outcome may be settled by the channel's echo before it is tried again. */
export const SETTLE_MS = 60_000;
const STOP_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

const ATTEMPTS_MAX = 16;
const RETRY_FIRST_SECONDS = 2;
const RETRY_MAX_SECONDS = 3600;

/** Doubles from two seconds to an hour, a fifth more or less, so that many do not come back at once. */
function retryAfterSeconds(attempts: number, random: number): number {
  const seconds = Math.min(RETRY_FIRST_SECONDS * 2 ** (attempts - 1), RETRY_MAX_SECONDS);
  return seconds * (0.8 + 0.4 * random);
}

interface OutcomeParts {
  /** The database, or a transaction that this joins. */
  database: Pick<Database, 'run' | 'transaction'>;
  log: Logger;
  now: () => Date;
}

/** Writes what an attempt's result means for its delivery, whether the channel said it at once or later. */
export async function applyResult(
  { database, log, now }: OutcomeParts,
  channel: Channel,
  delivery: Claimed,
  result: SendResult,
): Promise<void> {
  const write = (change: Settlement) => database.transaction((tx) => settle(tx, delivery, change, now()));
  const inMs = (ms: number) => new Date(now().getTime() + ms);
  const again = (
    code: string,
    seconds = retryAfterSeconds(delivery.attempts, Math.random()),
    uncounted = false,
  ) => write({ state: 'queued', dueAt: inMs(seconds * 1000), code, uncounted });
  const fail = (reason: string, code: string) =>
    database.transaction(async (tx) => {
      const written = await settle(tx, delivery, { state: 'failed', reason, code }, now());
      if (written) await givePlaceBack(tx, delivery.merchant_id, delivery.key, now());
    });

  const retry = (code: string, seconds?: number, attemptsMax = ATTEMPTS_MAX) =>
    delivery.attempts < attemptsMax
      ? again(code, seconds)
      : fail(`It could not be delivered in ${delivery.attempts} attempts.`, code);

  switch (result.outcome) {
    case 'sent':
      await write({ state: result.state, messageId: result.messageId });
      return;
    case 'retry':
      if (result.notCounted) await again(result.code, result.afterSeconds, true);
      else await retry(result.code, result.afterSeconds, result.attemptsMax);
      return;
    case 'unknown':
      if (delivery.attempts >= ATTEMPTS_MAX)
        await fail(`After ${delivery.attempts} attempts nobody knows whether it arrived.`, result.code);
      else if (!channel.type.reportsStatus) await again(result.code);
      else await write({ state: 'sending', unsettled: true, dueAt: inMs(SETTLE_MS), code: result.code });
      return;
    case 'window_closed':
      // One that the customer has opened since then is open.
      await database.run(
        'delete from customer_windows where channel_id = $1 and phone = $2 and opened_at <= $3',
        [channel.id, delivery.recipient, result.asOf ?? now().toISOString()],
      );
      // Said twice, it is not the window that stands between us: then as with any other refusal.
      if (delivery.attempts > 2) await retry(result.code);
      else await write({ state: 'queued', code: result.code });
      return;
    case 'wait_a_day':
      await write({ state: 'queued', dueAt: inMs(DAY_MS), code: result.code, reason: result.reason });
      return;
    case 'failed':
      await fail(result.reason, result.code);
      return;
    case 'channel_stopped': {
      const until = inMs(STOP_MS);
      log.error({ channel: channel.id, code: result.code, reason: result.reason }, 'the channel is stopped');
      await database.run(
        `insert into channel_stops (channel_id, code, stopped_at, until) values ($1, $2, $3, $4)
          on conflict (channel_id) do update set code = excluded.code, until = excluded.until`,
        [channel.id, result.code, now().toISOString(), until.toISOString()],
      );
      await write({ state: 'queued', dueAt: until, code: result.code, uncounted: true });
      return;
    }
  }
}
