import type { MerchantId } from '../../contract/ids.ts';
import type { MachineKey, Scope } from '../../contract/machineKeys.ts';
import { type Database, type Queries, REVOCATIONS, type Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { createKeyText, hashOf, hintOf } from './format.ts';

/** The keys of merchants' programs: the only SQL on machine_keys. */

interface Row extends Omit<MachineKey, 'scopes'> {
  scopes: string;
}

const COLUMNS = 'id, name, hint, scopes, created_at, expires_at, last_used_at';
const keyOf = (row: Row): MachineKey => ({ ...row, scopes: row.scopes.split(' ') as Scope[] });

/** A merchant's keys that were not revoked. */
export const KEYS_MAX = 100;

export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | undefined;
  at: Date;
}

/** Returns undefined if the merchant has too many keys. The key's text is stored nowhere. */
export async function createMachineKey(
  tx: Transaction,
  merchantId: MerchantId,
  { name, scopes, expiresAt, at }: NewKey,
): Promise<(MachineKey & { key: string }) | undefined> {
  await tx.lock(`machine keys ${merchantId}`);
  const count = await tx.one<{ keys: number }>(
    'select count(*) as keys from machine_keys where merchant_id = $1 and revoked_at is null',
    [merchantId],
  );
  if (count!.keys >= KEYS_MAX) return undefined;
  const key = createKeyText();
  const inserted = {
    ...{ merchant_id: merchantId, name, hash: hashOf(key), hint: hintOf(key) },
    ...{ scopes: [...new Set(scopes)].join(' '), created_at: at.toISOString() },
    expires_at: expiresAt?.toISOString() ?? null,
  };
  const [row] = await insertRows<Row>(tx, 'machine_keys', [inserted], { returning: COLUMNS });
  return { ...keyOf(row!), key };
}

/** Newest first. */
export async function listMachineKeys(queries: Queries, merchantId: MerchantId): Promise<MachineKey[]> {
  const rows = await queries.all<Row>(
    `select ${COLUMNS} from machine_keys where merchant_id = $1 and revoked_at is null order by id desc limit ${KEYS_MAX}`,
    [merchantId],
  );
  return rows.map(keyOf);
}

/** The id under which servers read that a key was revoked. */
export const revocationOf = (keyId: number): string => `key:${keyId}`;

/** Every server refuses the key within a second: see `openRevocations`. Returns its name, if there was such a key. */
export async function revokeMachineKey(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<string | undefined> {
  const [row] = await tx.run<{ name: string }>(
    `update machine_keys set revoked_at = $3 where merchant_id = $1 and id = $2 and revoked_at is null
      returning name`,
    [merchantId, id, at.toISOString()],
  );
  if (!row) return undefined;
  // No user has the id 0: without a user, the row would mean a removed signing key.
  await tx.run('insert into revocations (session_id, user_id, revoked_at) values ($1, 0, $2)', [
    revocationOf(id),
    at.toISOString(),
  ]);
  return row.name;
}

export const announceRevocation = (database: Database): void => database.signal(REVOCATIONS);

export interface FoundKey {
  id: number;
  merchant_id: MerchantId;
  name: string;
  scopes: string;
  expires_at: string | null;
}

/** A key does not tell its merchant, so on a cluster this visits every node, by an index. The caller remembers it. */
export function findMachineKey(queries: Queries, hash: string): Promise<FoundKey | undefined> {
  return queries.one(
    `select id, merchant_id, name, scopes, expires_at from machine_keys where hash = $1 and revoked_at is null`,
    [hash],
  );
}

/** When a key expires: undefined if it was revoked. */
export async function findKeyExpiry(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<number | undefined> {
  const row = await queries.one<{ expires_at: string | null }>(
    'select expires_at from machine_keys where merchant_id = $1 and id = $2 and revoked_at is null',
    [merchantId, id],
  );
  if (!row) return undefined;
  return row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at);
}

export async function noteKeyUse(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<void> {
  await queries.run('update machine_keys set last_used_at = $3 where merchant_id = $1 and id = $2', [
    merchantId,
    id,
    at.toISOString(),
  ]);
}
