import { createHash } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Database, Queries } from '../database/database.ts';
import { type Vault, VaultError } from '../secrets.ts';

export const ALGORITHM = 'EdDSA';

/** Every process looks again this often, so a rollover reaches them all without a restart. */
const RELOAD_AFTER_MS = 30_000;
/** An unknown `kid` may be a new key or a forgery: look, but not for every forgery. */
const RELOAD_FOR_UNKNOWN_AFTER_MS = 1000;

interface SigningKey {
  kid: string;
  publicJwk: JWK;
  publicKey: CryptoKey;
  createdAt: string;
}

export interface Keyring {
  signer(): Promise<{ kid: string; key: CryptoKey }>;
  /** The public key of this name, or nothing. */
  find(kid: string): Promise<CryptoKey | undefined>;
  /** Counts up when a key was withdrawn: what was verified before must be verified again. */
  generation(): number;
  jwks(): Promise<{ keys: JWK[] }>;
}

interface KeyRow {
  kid: string;
  public_jwk: string;
  sealed_private_key: string;
  created_at: string;
}

export async function openKeyring(database: Database, vault: Vault, now: () => Date): Promise<Keyring> {
  let keys = new Map<string, SigningKey>();
  let signer: { kid: string; key: CryptoKey } | undefined;
  let loadedAt = 0;
  let generation = 0;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    const rows = await readKeys(database);
    const newest = rows[0];
    const next = new Map<string, SigningKey>();
    for (const row of rows) {
      next.set(row.kid, keys.get(row.kid) ?? (await publicHalf(row)));
    }
    if (newest && signer?.kid !== newest.kid) {
      signer = { kid: newest.kid, key: await privateHalf(newest, vault) };
    }
    if ([...keys.keys()].some((kid) => !next.has(kid))) generation += 1;
    keys = next;
    loadedAt = performance.now();
  }

  const reload = (): Promise<void> => {
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  };

  /** With the database away the keys in memory go on serving. */
  async function refresh(afterMs: number): Promise<void> {
    if (performance.now() - loadedAt < afterMs) return;
    await reload().catch(() => {});
  }

  if ((await readKeys(database)).length === 0) {
    await database.exclusively('first signing key', async () => {
      if ((await readKeys(database)).length === 0) await addKey(database, vault, now());
    });
  }
  await load();

  return {
    async signer() {
      await refresh(RELOAD_AFTER_MS);
      if (!signer) throw new Error('the database holds no signing key');
      return signer;
    },
    async find(kid) {
      await refresh(keys.has(kid) ? RELOAD_AFTER_MS : RELOAD_FOR_UNKNOWN_AFTER_MS);
      return keys.get(kid)?.publicKey;
    },
    generation() {
      void refresh(RELOAD_AFTER_MS);
      return generation;
    },
    async jwks() {
      await refresh(RELOAD_AFTER_MS);
      return { keys: [...keys.values()].map(({ publicJwk }) => publicJwk) };
    },
  };
}

/** Newest first. */
function readKeys(queries: Queries): Promise<KeyRow[]> {
  return queries.all<KeyRow>(
    'select kid, public_jwk, sealed_private_key, created_at from signing_keys order by created_at desc, kid',
  );
}

async function publicHalf(row: KeyRow): Promise<SigningKey> {
  const publicJwk = JSON.parse(row.public_jwk) as JWK;
  const publicKey = (await importJWK(publicJwk, ALGORITHM)) as CryptoKey;
  return { kid: row.kid, publicJwk, publicKey, createdAt: row.created_at };
}

async function privateHalf(row: KeyRow, vault: Vault): Promise<CryptoKey> {
  const jwk = JSON.parse(vault.open(row.sealed_private_key, purposeOf(row.kid))) as JWK;
  return (await importJWK(jwk, ALGORITHM)) as CryptoKey;
}

const purposeOf = (kid: string) => `signing key ${kid}`;

/** Makes a key; from then on it signs. Gives its `kid`. */
export async function addKey(queries: Queries, vault: Vault, now: Date): Promise<string> {
  const pair = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true });
  const publicJwk = await exportJWK(pair.publicKey);
  const kid = createHash('sha256').update(String(publicJwk.x)).digest('base64url').slice(0, 16);
  const sealed = vault.seal(JSON.stringify(await exportJWK(pair.privateKey)), purposeOf(kid));
  await queries.run(
    'insert into signing_keys (kid, public_jwk, sealed_private_key, created_at) values ($1, $2, $3, $4)',
    [kid, JSON.stringify({ ...publicJwk, kid, alg: ALGORITHM, use: 'sig' }), sealed, now.toISOString()],
  );
  return kid;
}

/** Keys replaced before this time signed nothing that is still valid. Gives the names of those removed. */
export async function removeKeysReplacedBefore(queries: Queries, time: Date): Promise<string[]> {
  const rows = await queries.run<{ kid: string }>(
    `delete from signing_keys where created_at < (
      select max(created_at) from signing_keys where created_at < $1
    ) returning kid`,
    [time.toISOString()],
  );
  return rows.map(({ kid }) => kid);
}

/** Whether SECRET_KEY opens what the database holds. */
export async function keysOpen(queries: Queries, vault: Vault): Promise<boolean> {
  try {
    for (const row of await readKeys(queries)) vault.open(row.sealed_private_key, purposeOf(row.kid));
    return true;
  } catch (error) {
    if (error instanceof VaultError) return false;
    throw error;
  }
}
