import { existsSync } from 'node:fs';
import { keysOpen, listKeys, rotateKeys } from '../auth/keys.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { createVault, readOrMakeSecretKey, type Vault } from '../secrets.ts';
import { command, Failure, PROGRAM } from './command.ts';
import { withDatabase } from './database.ts';
import { count, minute } from './terminal.ts';

export const commands = {
  list: command({
    about: 'List the keys that sign and verify tokens',
    run: async () => {
      const keys = await withDatabase(listKeys);
      return {
        columns: [
          { title: 'KEY', value: ({ kid }) => kid },
          { title: 'MADE (UTC)', value: ({ created_at }) => minute(created_at) },
          { title: 'STATE', value: ({ state }) => state },
        ],
        pages: [keys.map((key, index) => ({ ...key, state: index === 0 ? 'signs' : 'verifies' }))],
        none: 'There are no keys yet: the server makes one when it first starts.',
      };
    },
  }),

  rotate: command({
    about: 'Make a new signing key',
    details: `Running servers sign with it within 30 seconds. The old key goes on verifying what it signed until that has
expired, and is then removed; so nobody is signed out, unless --revoke asks for it.`,
    options: {
      revoke: { type: 'boolean', about: 'Remove the old keys at once: everybody must sign in again' },
    },
    run: ({ revoke }) =>
      withDatabase(async (database, config) => {
        const vault = await vaultFor(database, config, { revoke });
        const { kid, removed } = await rotateKeys(database, vault, new Date(), { revoke });
        const took = 'Running servers take it over within 30 seconds';
        return {
          text: revoke
            ? `Key ${kid} was made and ${count(removed.length, 'key')} removed. ${took}; then everybody must sign in again.`
            : `Key ${kid} was made. ${took}; older ones verify what they signed until that has expired.`,
          json: { kid, removed },
        };
      }),
  }),
};

/**
 * A key sealed with a SECRET_KEY that the servers do not have would stop them. Where all others are removed
 * that is the very purpose: so one recovers from a SECRET_KEY that was lost.
 */
async function vaultFor(database: Database, config: Config, { revoke }: { revoke: boolean }): Promise<Vault> {
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
