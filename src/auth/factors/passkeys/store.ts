import type { Queries } from '../../../database/database.ts';

export interface Passkey {
  id: number;
  user_id: number;
  credential_id: string;
  public_key: string;
  counter: number;
  transports: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
}

const PASSKEY = 'id, user_id, credential_id, public_key, counter, transports, name, created_at, last_used_at';

export function listPasskeys(queries: Queries, userId: number): Promise<Passkey[]> {
  return queries.all(`select ${PASSKEY} from passkeys where user_id = $1 order by id`, [userId]);
}

/** Returns false if this passkey was added before, or the user has `max` others. */
export async function insertPasskey(
  queries: Queries,
  passkey: Omit<Passkey, 'id' | 'last_used_at'>,
  max: number,
): Promise<boolean> {
  const rows = await queries.run(
    `insert into passkeys (user_id, credential_id, public_key, counter, transports, name, created_at)
      select cast($1 as bigint), $2, $3, cast($4 as bigint), $5, $6, $7
      where (select count(*) from passkeys where user_id = $1) < ${max}
      on conflict (credential_id) do nothing returning id`,
    [
      passkey.user_id,
      passkey.credential_id,
      passkey.public_key,
      passkey.counter,
      passkey.transports,
      passkey.name,
      passkey.created_at,
    ],
  );
  return rows.length > 0;
}

export async function removePasskey(queries: Queries, userId: number, id: number): Promise<boolean> {
  const rows = await queries.run('delete from passkeys where user_id = $1 and id = $2 returning id', [
    userId,
    id,
  ]);
  return rows.length > 0;
}

interface PasskeyOwner {
  email: string;
  merchant_id: number | null;
  second_factor_at: string | null;
}

export function findPasskey(
  queries: Queries,
  credentialId: string,
): Promise<(Passkey & PasskeyOwner) | undefined> {
  return queries.one(
    `select p.id, p.user_id, p.credential_id, p.public_key, p.counter, p.transports, p.name, p.created_at,
        p.last_used_at, u.email, u.merchant_id, u.second_factor_at
      from passkeys p join users u on u.id = p.user_id where p.credential_id = $1`,
    [credentialId],
  );
}

/** Returns false if the passkey was removed, or its counter has changed since it was read. Many stay at 0. */
export async function usePasskey(
  queries: Queries,
  { id, counter }: Passkey,
  newCounter: number,
  at: Date,
): Promise<boolean> {
  const rows = await queries.run(
    'update passkeys set counter = $3, last_used_at = $4 where id = $1 and counter = $2 returning id',
    [id, counter, newCounter, at.toISOString()],
  );
  return rows.length > 0;
}
