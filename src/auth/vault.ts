import { existsSync } from 'node:fs';
import type { Queries } from '../database/database.ts';
import { PROGRAM } from '../installation.ts';
import { createVault, isEncodedKey, readOrMakeSecretKey, type Vault, VaultError } from '../secrets.ts';
import { keysOpen, listKeys } from './keys.ts';

interface KeyPlace {
  secretKey: string | undefined;
  secretKeyFile: string;
}

export const openVault = ({ secretKey, secretKeyFile }: KeyPlace): Vault =>
  createVault(secretKey ?? readOrMakeSecretKey(secretKeyFile));

/**
 * The vault that can decrypt this database, or an error that says why there is none. Only a new database gets a new
 * key, because a new key could not decrypt an existing one. With `revoke` all old keys are removed anyway: that is
 * how to recover from a lost key.
 */
export async function openFittingVault(
  queries: Queries,
  place: KeyPlace,
  { revoke } = { revoke: false },
): Promise<Vault> {
  const { secretKey, secretKeyFile: file } = place;
  const lost = `if it is lost, "${PROGRAM} keys rotate --revoke" continues without it; everybody must sign in again.`;
  const isNew = (await listKeys(queries)).length === 0;
  if (secretKey !== undefined && !isEncodedKey(secretKey) && (revoke || isNew)) {
    throw new VaultError(
      `SECRET_KEY must be 32 random bytes in base64 or hex. Run "${PROGRAM} secret" to create one.`,
    );
  }
  const isMissing = secretKey === undefined && !existsSync(file);
  if (isMissing && !revoke && !isNew) {
    throw new VaultError(`${file} is missing. It encrypts this database. Restore it; ${lost}`);
  }
  const vault = openVault(place);
  if (revoke || (await keysOpen(queries, vault))) return vault;
  const key = secretKey === undefined ? `The key in ${file}` : 'SECRET_KEY';
  throw new VaultError(`${key} is not the key of this database. Restore the right one; ${lost}`);
}
