import { listKeys, rotateKeys } from '../auth/keys.ts';
import { openFittingVault, readVault } from '../auth/vault.ts';
import { findKey } from './backup/key.ts';
import { command, Failure } from './command.ts';
import { withDatabase } from './database.ts';
import { reportSealed } from './keys/sealed.ts';
import { count, createTable, minute } from './terminal.ts';
import { COMMAND_LINE } from './who.ts';

export const commands = {
  list: command({
    about: 'List the keys that sign and verify tokens',
    run: async () => {
      const keys = await withDatabase(listKeys);
      return {
        columns: [
          { title: 'KEY', value: ({ kid }) => kid },
          { title: 'CREATED (UTC)', value: ({ created_at }) => minute(created_at) },
          { title: 'STATE', value: ({ state }) => state },
        ],
        pages: [keys.map((key, index) => ({ ...key, state: index === 0 ? 'signs' : 'verifies' }))],
        none: 'There are no keys yet. The server creates one when it first starts.',
      };
    },
  }),

  status: command({
    about: 'Show what SECRET_KEY and SECRET_KEY_PREVIOUS have encrypted',
    details: `Says when SECRET_KEY_PREVIOUS can be removed, and which fingerprints the keys have: a backup names that of the key it
needs. Changes nothing.`,
    run: () =>
      withDatabase(async (database, config) => {
        const vault = readVault(config);
        if (!vault) throw new Failure(`${config.secretKeyFile} is missing. Restore it.`);
        const { place, fingerprint, previousFingerprint } = await findKey(database, config);
        const { rows, total, previousNeeded, summary } = await reportSealed(database, vault);
        const fingerprints = [
          `Fingerprint of ${place}: ${fingerprint}.`,
          ...(previousFingerprint ? [`Fingerprint of SECRET_KEY_PREVIOUS: ${previousFingerprint}.`] : []),
        ];
        const table = createTable([
          { title: 'ROWS', value: ({ what }) => what },
          { title: 'SECRET_KEY', value: ({ current }) => current },
          { title: 'SECRET_KEY_PREVIOUS', value: ({ previous }) => previous },
          { title: 'NEITHER', value: ({ neither }) => neither },
        ]);
        return {
          text: `${table(rows)}\n\n${fingerprints.join('\n')}\n${summary}`,
          json: {
            ...{ rows, total, previous_needed: previousNeeded, summary },
            fingerprint,
            previous_fingerprint: previousFingerprint ?? null,
          },
        };
      }),
  }),

  rotate: command({
    about: 'Create a new signing key',
    details: `Running servers use it within 30 seconds. Old keys still verify their tokens until those expire, and are then
removed. Nobody is signed out, except with --revoke, which works within a second.`,
    options: {
      revoke: { type: 'boolean', about: 'Remove the old keys now: everybody must sign in again' },
    },
    run: ({ revoke }) =>
      withDatabase(async (database, config) => {
        const vault = await openFittingVault(database, config, { revoke });
        const { kid, removed } = await rotateKeys(database, vault, new Date(), { revoke }, COMMAND_LINE);
        return {
          text: revoke
            ? `Key ${kid} was created and ${count(removed.length, 'key')} removed. Everybody must sign in again.`
            : `Key ${kid} was created. Running servers use it within 30 seconds. Older keys verify their tokens until those expire.`,
          json: { kid, removed },
        };
      }),
  }),
};
