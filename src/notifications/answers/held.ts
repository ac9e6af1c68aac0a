import { randomUUID } from 'node:crypto';
import type { Author, MerchantId } from '../../contract/ids.ts';
import { UNDO_SECONDS_MAX } from '../../contract/notifications.ts';
import type { Queries, Reads } from '../../database/database.ts';
import { type JobKey, merchantsOf, pauseEnd } from '../../jobs/job.ts';
import type { Hold } from './mark.ts';
import type { Decided, Settled } from './perform.ts';

interface HeldAnswer {
  decision: Decided;
  author: Author;
  at: string;
  recipient: string;
  /** The notifications that got the same answer, which is learned once. */
  together?: readonly number[];
}

/** The key makes the text unique, so that whoever compares it can only get this answer. */
export function holdOf(
  { decision, author, at, recipient }: Settled,
  undoSeconds: number,
  together: readonly number[] | undefined,
): Hold {
  const until = new Date(at.getTime() + undoSeconds * 1000).toISOString();
  return {
    until,
    held: JSON.stringify({ key: randomUUID(), decision, author, at, recipient, together } satisfies Record<
      keyof HeldAnswer | 'key',
      unknown
    >),
  };
}

/** The error of `JSON.parse` quotes the text, which must not be logged. */
export function readHeld({ held }: Pick<Hold, 'held'>): HeldAnswer {
  try {
    return JSON.parse(held) as HeldAnswer;
  } catch {
    throw new Error('the held answer is not valid JSON');
  }
}

/** The next merchants with answers that can no longer be undone. One with many takes a page, not the whole look. */
export async function findDueMerchants(
  queries: Queries,
  { at, after, limit }: { at: Date; after: number; limit: number },
): Promise<JobKey[]> {
  const rows = await queries.all<{ merchant_id: MerchantId }>(
    `select merchant_id from notifications where merchant_id > $1 and undo_until is not null and undo_until <= $2
      order by merchant_id limit $3`,
    [after, at.toISOString(), limit],
  );
  return merchantsOf(rows);
}

export interface DueAnswer {
  id: number;
  undo_until: string;
  held: string;
  /** When the person answered. */
  updated_at: string;
}

export function listDue(
  queries: Queries,
  merchantId: MerchantId,
  at: Date,
  limit: number,
): Promise<DueAnswer[]> {
  return queries.all(
    `select id, undo_until, held, updated_at from notifications
      where merchant_id = $1 and undo_until is not null and undo_until <= $2
      order by undo_until, id limit $3`,
    [merchantId, at.toISOString(), limit],
  );
}

const PAUSE_MS = { min: 1000, max: 5 * 60_000 };

/** After it could not be performed, so that others come first. It can still be undone, if nothing changed meanwhile. */
export async function postpone(
  queries: Queries,
  merchantId: MerchantId,
  { id, held, undo_until, updated_at }: DueAnswer,
  at: Date,
): Promise<void> {
  await queries.run(
    'update notifications set undo_until = $4 where merchant_id = $1 and id = $2 and undo_until = $3 and held = $5',
    [merchantId, id, undo_until, pauseEnd(Date.parse(updated_at), at, PAUSE_MS).toISOString(), held],
  );
}

const OVERDUE_AFTER_MS = (UNDO_SECONDS_MAX + 60) * 1000;

/** For the metrics: those that should have been sent more than a minute ago. */
export async function countOverdue(queries: Reads, at: Date): Promise<number> {
  const row = await queries.one<{ overdue: number }>(
    'select count(*) as overdue from notifications where undo_until is not null and updated_at < $1',
    [new Date(at.getTime() - OVERDUE_AFTER_MS).toISOString()],
  );
  return row?.overdue ?? 0;
}

/** How many answers can still be undone, or wait to be performed. */
export async function countHeld(queries: Queries): Promise<number> {
  const row = await queries.one<{ count: number }>(
    'select count(*) as count from notifications where undo_until is not null',
  );
  return row!.count;
}
