import { existsSync, readFileSync } from 'node:fs';
import type { Queries } from '../database/database.ts';
import { PROGRAM } from '../installation.ts';
import { createVault, isEncodedKey, readOrMakeSecretKey, type Vault, VaultError } from '../secrets.ts';
import { isKeyChanged, keysOpen, listKeys } from './keys.ts';

interface KeyPlace {
  secretKey: string | undefined;
  secretKeyFile: string;
  secretKeyPrevious?: string | undefined;
}

export const openVault = ({ secretKey, secretKeyFile, secretKeyPrevious }: KeyPlace): Vault =>
  createVault(secretKey ?? readOrMakeSecretKey(secretKeyFile), secretKeyPrevious);

/** The vault of the settings, whether or not it can decrypt the database. Undefined if there is no key. */
export function readVault({
  secretKey,
  secretKeyFile: file,
  secretKeyPrevious,
}: KeyPlace): Vault | undefined {
  if (secretKey === undefined && !existsSync(file)) return undefined;
  return createVault(secretKey ?? readFileSync(file, 'utf8').trim(), secretKeyPrevious);
}

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
  const { secretKey, secretKeyFile: file, secretKeyPrevious } = place;
  const lost = `if it is lost, "${PROGRAM} keys rotate --revoke" continues without it; everybody must sign in again.`;
  const isNew = (await listKeys(queries)).length === 0;
  const isChosenNow = revoke || isNew || secretKeyPrevious !== undefined;
  if (secretKey !== undefined && !isEncodedKey(secretKey) && isChosenNow) {
    throw new VaultError(
      `SECRET_KEY must be 32 random bytes in base64 or hex. Run "${PROGRAM} secret" to create one.`,
    );
  }
  const isMissing = secretKey === undefined && !existsSync(file);
  if (isMissing && !revoke && !isNew) {
    throw new VaultError(`${file} is missing. It encrypts this database. Restore it; ${lost}`);
  }
  const vault = openVault(place);
  if (vault.change && (await isKeyChanged(queries, vault))) vault.change.sealWithCurrent();
  if (revoke || (await keysOpen(queries, vault))) return vault;
  const key = secretKey === undefined ? `The key in ${file}` : 'SECRET_KEY';
  throw new VaultError(
    secretKeyPrevious === undefined
      ? `${key} is not the key of this database. Restore the right one, or set the key before it as ` +
          `SECRET_KEY_PREVIOUS until "keys status" says that it is no longer needed; ${lost}`
      : `Neither ${key} nor SECRET_KEY_PREVIOUS is the key of this database. Restore the right one; ${lost}`,
  );
}
