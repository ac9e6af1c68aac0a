import { existsSync } from 'node:fs';
import { keysOpen, listKeys } from '../auth/keys.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { createVault, readOrMakeSecretKey, type Vault } from '../secrets.ts';
import { Failure, PROGRAM } from './command.ts';

/**
 * What is sealed with a SECRET_KEY that the servers do not have would stop them. Where all keys are removed
 * that is the very purpose: so one recovers from a SECRET_KEY that was lost.
 */
export async function vaultFor(
  database: Database,
  config: Config,
  { revoke }: { revoke: boolean } = { revoke: false },
): Promise<Vault> {
  const isFirst = (await listKeys(database)).length === 0;
  const lost = `"${PROGRAM} keys rotate --revoke" goes on without it: everybody must sign in again.`;
  if (config.secretKey === undefined && !existsSync(config.secretKeyFile) && !isFirst && !revoke) {
    throw new Failure(`${config.secretKeyFile} is missing. Restore it, or if it is lost: ${lost}`);
  }
  const vault = createVault(config.secretKey ?? readOrMakeSecretKey(config.secretKeyFile));
  if (!revoke && !(await keysOpen(database, vault))) {
    throw new Failure(
      `SECRET_KEY does not fit this database: its keys were sealed with another. Set that one, or if it is lost: ${lost}`,
    );
  }
  return vault;
}
