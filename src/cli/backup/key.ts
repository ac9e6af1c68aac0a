import { existsSync, readFileSync } from 'node:fs';
import { keysOpen, listKeys } from '../../auth/keys.ts';
import type { Config } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import { createVault, keyFingerprint } from '../../secrets.ts';

/** The secret key of the settings, and whether it is the one of this database. Never creates one. */
export interface OwnKey {
  /** Where the key is. */
  place: string;
  /** Undefined if there is none. */
  fingerprint: string | undefined;
  fits: boolean;
  /** Whether the database has signing keys: the first start of a server creates one. */
  isNeeded: boolean;
  /** While SECRET_KEY changes, some rows may still need the previous one. */
  previousFingerprint: string | undefined;
}

export async function findKey(
  database: Database,
  {
    secretKey,
    secretKeyFile,
    secretKeyPrevious,
  }: Pick<Config, 'secretKey' | 'secretKeyFile' | 'secretKeyPrevious'>,
): Promise<OwnKey> {
  const place = secretKey === undefined ? secretKeyFile : 'SECRET_KEY';
  const key =
    secretKey ?? (existsSync(secretKeyFile) ? readFileSync(secretKeyFile, 'utf8').trim() : undefined);
  const isNeeded = await listKeys(database).then(
    (keys) => keys.length > 0,
    // Without tables.
    () => false,
  );
  if (key === undefined)
    return { place, fingerprint: undefined, fits: false, isNeeded, previousFingerprint: undefined };
  return {
    place,
    isNeeded,
    fingerprint: keyFingerprint(createVault(key)),
    fits: await keysOpen(database, createVault(key, secretKeyPrevious)),
    previousFingerprint: secretKeyPrevious && keyFingerprint(createVault(secretKeyPrevious)),
  };
}

/** The fingerprints of the keys that open this database. */
export const fingerprintsOf = ({ fits, fingerprint, previousFingerprint }: OwnKey): string[] =>
  fits ? [fingerprint, previousFingerprint].filter((each) => each !== undefined) : [];

/** "the secret key with the fingerprint A", or two of them. */
export const keysText = (fingerprints: readonly string[]): string =>
  fingerprints.length === 1
    ? `the secret key with the fingerprint ${fingerprints[0]}`
    : `the secret keys with the fingerprints ${fingerprints.join(' and ')} (SECRET_KEY and SECRET_KEY_PREVIOUS)`;
