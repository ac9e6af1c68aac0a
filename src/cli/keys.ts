import { listKeys, rotateKeys } from '../auth/keys.ts';
import { openFittingVault } from '../auth/vault.ts';
import { command } from './command.ts';
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
        const vault = await openFittingVault(database, config, { revoke });
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
