import type { Database, Queries } from '../../../database/database.ts';

/**
 * Stays below WhatsApp's rate limits. The state is in the database, so the limits hold for all workers together.
 *
 * GCRA (the generic cell rate algorithm): a row holds the time from which its number or customer is free again.
 * Each message moves that time forward by one interval, and may use it if it is not too far ahead.
 */

interface Limit {
  everyMs: number;
  /** How far ahead of now the time may be. */
  aheadMs: number;
}

/** The longest time that a message waits for its turn while it occupies a worker's slot. */
const TURN_MAX_MS = 1000;
/**
 * 66 a second, evenly spaced. WhatsApp allows 80: network delays may bunch up the messages of 185 ms before more
 * than 80 arrive within a second.
 */
const NUMBER: Limit = { everyMs: 15, aheadMs: TURN_MAX_MS };
/** One in 6 seconds, in bursts of up to 45. */
const CUSTOMER: Limit = { everyMs: 6000, aheadMs: 44 * 6000 };
/** The recipient in the row of the number itself. */
const WHOLE_NUMBER = '';

export type Turn =
  /** When to send it: now or within a second. */
  { atMs: number } | { mustWait: 'CUSTOMER_PACE' | 'NUMBER_PACE'; retryInMs: number };

class MustWait extends Error {
  readonly turn: Turn;
  constructor(turn: Turn) {
    super('rate limit');
    this.turn = turn;
  }
}

/** Reserves the number's next free time and one message to this customer: both, or neither. */
export async function reserveTurn(
  database: Database,
  channelId: string,
  phone: string,
  at: Date,
): Promise<Turn> {
  const atMs = at.getTime();
  try {
    return await database.transaction(async (tx) => {
      // The number comes last: every worker needs its row, and it stays locked until the commit.
      if ((await advance(tx, [channelId, phone], CUSTOMER, atMs)) === undefined) {
        const retryInMs = await waitMs(tx, [channelId, phone], CUSTOMER, atMs);
        throw new MustWait({ mustWait: 'CUSTOMER_PACE', retryInMs });
      }
      return reserveNumber(tx, channelId, atMs);
    });
  } catch (error) {
    if (error instanceof MustWait) return error.turn;
    throw error;
  }
}

/** For a message that missed its turn: the number's next free time. */
export async function reserveNextTurn(database: Database, channelId: string, at: Date): Promise<Turn> {
  try {
    return await reserveNumber(database, channelId, at.getTime());
  } catch (error) {
    if (error instanceof MustWait) return error.turn;
    throw error;
  }
}

async function reserveNumber(queries: Queries, channelId: string, atMs: number): Promise<Turn> {
  const turnAt = await advance(queries, [channelId, WHOLE_NUMBER], NUMBER, atMs);
  if (turnAt !== undefined) return { atMs: turnAt };
  throw new MustWait({ mustWait: 'NUMBER_PACE', retryInMs: TURN_MAX_MS });
}

/** The time this message may use, or nothing if it must wait. */
async function advance(
  queries: Queries,
  key: readonly [channelId: string, recipient: string],
  { everyMs, aheadMs }: Limit,
  atMs: number,
): Promise<number | undefined> {
  const [row] = await queries.run<{ free_at_ms: number }>(
    `insert into send_pace (channel_id, recipient, free_at_ms) values ($1, $2, $3)
      on conflict (channel_id, recipient) do update set free_at_ms =
        case when send_pace.free_at_ms > $4 then send_pace.free_at_ms + $5 else excluded.free_at_ms end
        where send_pace.free_at_ms <= $6
      returning free_at_ms`,
    [...key, atMs + everyMs, atMs, everyMs, atMs + aheadMs],
  );
  return row && row.free_at_ms - everyMs;
}

async function waitMs(
  queries: Queries,
  key: readonly [channelId: string, recipient: string],
  { everyMs, aheadMs }: Limit,
  atMs: number,
): Promise<number> {
  const row = await queries.one<{ free_at_ms: number }>(
    'select free_at_ms from send_pace where channel_id = $1 and recipient = $2',
    [...key],
  );
  return Math.max(1, (row?.free_at_ms ?? atMs + everyMs) - aheadMs - atMs);
}
