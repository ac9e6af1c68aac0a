import { existsSync } from 'node:fs';
import type { Queries } from '../database/database.ts';
import { createVault, readOrMakeSecretKey, type Vault, VaultError } from '../secrets.ts';
import { keysOpen, listKeys } from './keys.ts';

interface KeyPlace {
  secretKey: string | undefined;
  secretKeyFile: string;
}

export const openVault = ({ secretKey, secretKeyFile }: KeyPlace): Vault =>
  createVault(secretKey ?? readOrMakeSecretKey(secretKeyFile));

/**
 * The vault whose key opens what this database was sealed with, or why there is none. A key is made for a new
 * database alone: beside one that was sealed before, a new one would open nothing. Where all keys are revoked
 * that is the very purpose: so one recovers from a key that was lost.
 */
export async function openFittingVault(
  queries: Queries,
  place: KeyPlace,
  { revoke } = { revoke: false },
): Promise<Vault> {
  const { secretKey, secretKeyFile: file } = place;
  const lost =
    'if it is lost, "npm run deskbell -- keys rotate --revoke" goes on without it: everybody must sign in again.';
  const isMissing = secretKey === undefined && !existsSync(file);
  if (isMissing && !revoke && (await listKeys(queries)).length > 0) {
    throw new VaultError(`${file} is missing, with which this database was sealed. Restore it; ${lost}`);
  }
  const vault = openVault(place);
  if (revoke || (await keysOpen(queries, vault))) return vault;
  const key = secretKey === undefined ? `The key in ${file}` : 'SECRET_KEY';
  throw new VaultError(
    `${key} does not fit this database: its keys were sealed with another. Restore that one; ${lost}`,
  );
}
