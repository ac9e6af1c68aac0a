import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CryptoKey, JWK } from 'jose';
import { recordEvent, type Who } from '../audit/record.ts';
import { type Database, type Queries, REVOCATIONS } from '../database/database.ts';
import { withoutDeadline } from '../database/deadline.ts';
import { type Sealed, type Vault, VaultError } from '../secrets.ts';

export const ALGORITHM = 'EdDSA';
/** Commands that only list keys, or compare them with SECRET_KEY, start faster without it. */
const loadJose = () => import('jose');

/** Every process reloads the keys this often, so a key rotation needs no restart. */
const RELOAD_AFTER_MS = 30_000;
/** An unknown `kid` may be a new key or a forgery: reload for it, but not too often. */
const RELOAD_FOR_UNKNOWN_AFTER_MS = 1000;
/** Short, because the request will wait for the database as well. */
const RELOAD_WAIT_MAX_MS = 400;

interface SigningKey {
  kid: string;
  publicJwk: JWK;
  publicKey: CryptoKey;
  createdAt: string;
}

interface Signer {
  kid: string;
  key: CryptoKey;
}

export interface Keyring {
  signer(): Promise<Signer>;
  /** The public key with this id, or undefined. */
  find(kid: string): Promise<CryptoKey | undefined>;
  /** Whether the key exists, as far as this process knows. */
  has(kid: string): boolean;
  /** Reads the keys now. Rejects if the database is unavailable. */
  reload(): Promise<void>;
  /**
   * Grows when a key was removed: tokens that were verified before must be verified again. Undefined when the keys
   * must be reloaded, which `find` does.
   */
  generation(): number | undefined;
  jwks(): Promise<{ keys: JWK[] }>;
}

interface KeyRow {
  kid: string;
  public_jwk: string;
  sealed_private_key: string;
  created_at: string;
}

interface KeyringParts {
  database: Database;
  vault: Vault;
  log: { error(object: object, message: string): void };
  now: () => Date;
}

export async function openKeyring({ database, vault, log, now }: KeyringParts): Promise<Keyring> {
  let keys = new Map<string, SigningKey>();
  let signer: Signer | undefined;
  /** Why there is no signer. */
  let failure: { kid: string; cause: unknown } | undefined;
  let checkedAt = 0;
  let generation = 0;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    const rows = await readKeys(database.urgent);
    const newest = rows[0];
    const next = new Map<string, SigningKey>();
    for (const row of rows) {
      next.set(row.kid, keys.get(row.kid) ?? (await publicHalf(row)));
    }
    const nextSigner = newest && (signer?.kid === newest.kid ? signer : await openSigner(newest));
    // Together, and even if the newest key cannot be decrypted: removed keys neither verify nor sign.
    if ([...keys.keys()].some((kid) => !next.has(kid))) generation += 1;
    keys = next;
    signer = nextSigner;
  }

  /** Returns undefined if the key cannot be decrypted. Then nobody can sign in, but other tokens stay valid. */
  async function openSigner(row: KeyRow): Promise<Signer | undefined> {
    try {
      const key = await privateHalf(row, vault);
      failure = undefined;
      return { kid: row.kid, key };
    } catch (cause) {
      if (failure?.kid !== row.kid) {
        log.error(
          { err: cause, key_id: row.kid },
          'cannot decrypt the newest signing key; nobody can sign in',
        );
      }
      failure = { kid: row.kid, cause };
      return undefined;
    }
  }

  const reload = (): Promise<void> => {
    loading ??= withoutDeadline(load).finally(() => {
      loading = undefined;
      // A failed reload counts too: while the database is down, not every request should wait for a reload.
      checkedAt = now().getTime();
    });
    return loading;
  };

  /** Also true if the clock was set back. */
  const isDue = (afterMs: number) => Math.abs(now().getTime() - checkedAt) >= afterMs;

  /** If the database is unavailable or slow, the keys in memory stay in use. */
  async function refresh(afterMs: number): Promise<void> {
    if (!isDue(afterMs)) return;
    await Promise.race([reload().catch(() => {}), sleep(RELOAD_WAIT_MAX_MS, undefined, { ref: false })]);
  }

  if ((await readKeys(database)).length === 0) {
    await database.exclusively('first signing key', async () => {
      if ((await readKeys(database)).length === 0) await addKey(database, vault, now());
    });
  }
  await reload();
  if (failure) throw failure.cause;

  return {
    async signer() {
      await refresh(RELOAD_AFTER_MS);
      if (!signer) throw new Error('there is no usable signing key', { cause: failure?.cause });
      return signer;
    },
    async find(kid) {
      await refresh(keys.has(kid) ? RELOAD_AFTER_MS : RELOAD_FOR_UNKNOWN_AFTER_MS);
      return keys.get(kid)?.publicKey;
    },
    has: (kid) => keys.has(kid),
    async reload() {
      // A reload that has begun may have read the keys too early.
      await loading?.catch(() => {});
      await reload();
    },
    generation() {
      return isDue(RELOAD_AFTER_MS) ? undefined : generation;
    },
    async jwks() {
      await refresh(RELOAD_AFTER_MS);
      return { keys: [...keys.values()].map(({ publicJwk }) => publicJwk) };
    },
  };
}

/** Newest first. */
function readKeys(queries: Pick<Queries, 'all'>): Promise<KeyRow[]> {
  return queries.all<KeyRow>(
    'select kid, public_jwk, sealed_private_key, created_at from signing_keys order by created_at desc, kid',
  );
}

async function publicHalf(row: KeyRow): Promise<SigningKey> {
  const publicJwk = JSON.parse(row.public_jwk) as JWK;
  const { importJWK } = await loadJose();
  const publicKey = (await importJWK(publicJwk, ALGORITHM)) as CryptoKey;
  return { kid: row.kid, publicJwk, publicKey, createdAt: row.created_at };
}

async function privateHalf(row: KeyRow, vault: Vault): Promise<CryptoKey> {
  const jwk = JSON.parse(vault.open(row.sealed_private_key, purposeOf(row.kid))) as JWK;
  const { importJWK } = await loadJose();
  return (await importJWK(jwk, ALGORITHM)) as CryptoKey;
}

const purposeOf = (kid: string) => `signing key ${kid}`;

/** The last to be sealed again: a server does not start without the key of these. */
export const SEALED_SIGNING_KEYS: Sealed = {
  table: 'signing_keys',
  about: 'signing keys',
  key: { kid: '' },
  column: 'sealed_private_key',
  purposeOf: ({ kid }) => purposeOf(String(kid)),
};

/** Creates a key, which signs from now on. Returns its `kid`. */
async function addKey(queries: Queries, vault: Vault, now: Date): Promise<string> {
  return insertKey(queries, await makeKey(vault), now.toISOString());
}

/** Adds a key that signs from now on. `revoke` removes all others, which invalidates every token. */
export async function rotateKeys(
  database: Database,
  vault: Vault,
  now: Date,
  { revoke }: { revoke: boolean },
  by: Who,
): Promise<{ kid: string; removed: string[] }> {
  const key = await makeKey(vault);
  const rotated = await database.transaction(async (tx) => {
    const removed = revoke ? await tx.run<{ kid: string }>('delete from signing_keys returning kid') : [];
    if (revoke) await tx.run('insert into revocations (revoked_at) values ($1)', [now.toISOString()]);
    // The newest key signs, so this one must be the newest even if the clock was ahead before.
    const [newest] = await listKeys(tx);
    const earliest = newest ? Date.parse(newest.created_at) + 1 : 0;
    const createdAt = new Date(Math.max(now.getTime(), earliest)).toISOString();
    const kid = await insertKey(tx, key, createdAt);
    const about = { key_id: kid, keys_removed: removed.length };
    await recordEvent(tx, { what: 'key.rotated', merchantId: null, who: by, at: now, about });
    return { kid, removed: removed.map((row) => row.kid) };
  });
  if (revoke) database.signal(REVOCATIONS);
  return rotated;
}

/** Newest first. The newest signs; the others only verify. */
export function listKeys(queries: Queries): Promise<{ kid: string; created_at: string }[]> {
  return queries.all('select kid, created_at from signing_keys order by created_at desc, kid');
}

async function makeKey(vault: Vault): Promise<Omit<KeyRow, 'created_at'>> {
  const { exportJWK, generateKeyPair } = await loadJose();
  const pair = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true });
  const publicJwk = await exportJWK(pair.publicKey);
  const kid = createHash('sha256').update(String(publicJwk.x)).digest('base64url').slice(0, 16);
  return {
    kid,
    public_jwk: JSON.stringify({ ...publicJwk, kid, alg: ALGORITHM, use: 'sig' }),
    sealed_private_key: vault.seal(JSON.stringify(await exportJWK(pair.privateKey)), purposeOf(kid)),
  };
}

async function insertKey(
  queries: Queries,
  key: Omit<KeyRow, 'created_at'>,
  createdAt: string,
): Promise<string> {
  await queries.run(
    'insert into signing_keys (kid, public_jwk, sealed_private_key, created_at) values ($1, $2, $3, $4)',
    [key.kid, key.public_jwk, key.sealed_private_key, createdAt],
  );
  return key.kid;
}

/** Removes keys that were replaced before this time: their tokens have expired. Returns their ids. */
export async function removeKeysReplacedBefore(queries: Queries, time: Date): Promise<string[]> {
  const rows = await queries.run<{ kid: string }>(
    `delete from signing_keys where created_at < (
      select max(created_at) from signing_keys where created_at < $1
    ) returning kid`,
    [time.toISOString()],
  );
  return rows.map(({ kid }) => kid);
}

/** Whether SECRET_KEY, or the key before it, can decrypt the signing keys in the database. */
export async function keysOpen(queries: Queries, vault: Vault): Promise<boolean> {
  try {
    for (const row of await readKeys(queries)) vault.open(row.sealed_private_key, purposeOf(row.kid));
    return true;
  } catch (error) {
    if (error instanceof VaultError) return false;
    throw error;
  }
}

/** Whether the current key has sealed all signing keys: then it has sealed everything. */
export async function isKeyChanged(queries: Queries, { keyOf }: Vault): Promise<boolean> {
  const rows = await readKeys(queries);
  return rows.every(({ kid, sealed_private_key }) => keyOf(sealed_private_key, purposeOf(kid)) === 'current');
}
