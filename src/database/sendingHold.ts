import type { Database, Queries } from './database.ts';

/**
 * After a restore nothing leaves this installation, because much of it may have been sent already: no messages, webhooks,
 * alerts, mails, and no held answers. Everything is still queued, and is sent after the release. The same holds for a
 * database that was moved, because its messages are sent from the new one.
 */
export interface SendingHold {
  held_at: string;
  reason: 'restored' | 'moved' | 'operator';
  backup_made_at: string | null;
  key_fingerprint: string | null;
}

export const findHold = (queries: Pick<Queries, 'one'>): Promise<SendingHold | undefined> =>
  queries.one('select held_at, reason, backup_made_at, key_fingerprint from sending_hold where id = 1');

/** False if it is held already. */
export async function holdSending(queries: Queries, hold: SendingHold): Promise<boolean> {
  const rows = await queries.run(
    `insert into sending_hold (id, held_at, reason, backup_made_at, key_fingerprint) values (1, $1, $2, $3, $4)
      on conflict (id) do nothing returning id`,
    [hold.held_at, hold.reason, hold.backup_made_at, hold.key_fingerprint],
  );
  return rows.length > 0;
}

export const SENDING_HOLD = 'sending_hold';

/** For a database that was moved, in the transaction that has read it. */
export const holdMoved = (at: Date): string =>
  `insert into sending_hold (id, held_at, reason) values (1, '${at.toISOString()}', 'moved') on conflict (id) do nothing`;

/** False if it is not held. */
export async function releaseSending(queries: Queries): Promise<boolean> {
  return (await queries.run('delete from sending_hold where id = 1 returning id')).length > 0;
}

/** So often each process looks. */
const LOOK_EVERY_MS = 1000;

/** Asks the database at most once a second. Whoever is about to send asks this first. */
export function createHoldCheck({ urgent }: Pick<Database, 'urgent'>): () => Promise<boolean> {
  let known: { held: boolean; readAtMs: number } | undefined;
  return async () => {
    if (!known || performance.now() - known.readAtMs > LOOK_EVERY_MS) {
      const readAtMs = performance.now();
      known = { held: (await findHold(urgent)) !== undefined, readAtMs };
    }
    return known.held;
  };
}
