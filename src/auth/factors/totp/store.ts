import type { Queries } from '../../../database/database.ts';

/** Replaces a secret that was not confirmed. Returns false if there is a confirmed one. */
export async function storeTotp(
  queries: Queries,
  totp: { userId: number; sealedSecret: string; at: Date },
): Promise<boolean> {
  const rows = await queries.run(
    `insert into totp_secrets (user_id, sealed_secret, created_at) values ($1, $2, $3)
      on conflict (user_id) do update set sealed_secret = excluded.sealed_secret, created_at = excluded.created_at
        where totp_secrets.confirmed_at is null
      returning user_id`,
    [totp.userId, totp.sealedSecret, totp.at.toISOString()],
  );
  return rows.length > 0;
}

export interface Totp {
  sealed_secret: string;
  created_at: string;
  confirmed_at: string | null;
}

export function findTotp(queries: Queries, userId: number): Promise<Totp | undefined> {
  return queries.one('select sealed_secret, created_at, confirmed_at from totp_secrets where user_id = $1', [
    userId,
  ]);
}

export async function confirmTotp(
  queries: Queries,
  userId: number,
  { sealedSecret, step, at }: { sealedSecret: string; step: number; at: Date },
): Promise<boolean> {
  const rows = await queries.run(
    `update totp_secrets set confirmed_at = $2, last_step = $3
      where user_id = $1 and sealed_secret = $4 and confirmed_at is null returning user_id`,
    [userId, at.toISOString(), step, sealedSecret],
  );
  return rows.length > 0;
}

/** Returns false if this code, or a later one, was used before. Of two requests with one code, one wins. */
export async function useTimeStep(queries: Queries, userId: number, step: number): Promise<boolean> {
  const rows = await queries.run(
    `update totp_secrets set last_step = $2
      where user_id = $1 and confirmed_at is not null and last_step < $2 returning user_id`,
    [userId, step],
  );
  return rows.length > 0;
}

export async function removeTotp(queries: Queries, userId: number): Promise<boolean> {
  const rows = await queries.run(
    'delete from totp_secrets where user_id = $1 and confirmed_at is not null returning user_id',
    [userId],
  );
  return rows.length > 0;
}
