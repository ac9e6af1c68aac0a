import {
  announceRevocation,
  createMachineKey,
  KEYS_MAX,
  listMachineKeys,
  revokeMachineKey,
} from '../auth/machineKeys/store.ts';
import {
  DEFAULT_SCOPES,
  KEY_DAYS_MAX,
  KEY_NAME_LENGTH_MAX,
  SCOPE_NAMES,
  SCOPES,
  type Scope,
} from '../contract/machineKeys.ts';
import { command, Failure, PROGRAM, UsageError } from './command.ts';
import { MERCHANT, merchantOf, withDatabase } from './database.ts';
import { minute } from './terminal.ts';
import { recordCommand } from './who.ts';

const DAY_MS = 24 * 60 * 60_000;

export const commands = {
  add: command({
    about: 'Create a key for a merchant’s program, such as its assistant',
    details: `The key is printed once: only its hash is stored. Scopes:
${SCOPE_NAMES.map((name) => `  ${name.padEnd(19)} ${SCOPES[name]}`).join('\n')}
Without --scopes it gets: ${DEFAULT_SCOPES.join(' ')}.`,
    arguments: ['NAME'],
    options: {
      merchant: MERCHANT,
      scopes: { type: 'string', value: '"SCOPE SCOPE"', about: 'What the key may do' },
      days: {
        type: 'string',
        value: 'DAYS',
        about: 'After how many days the key expires. Without this, it never does',
      },
    },
    run: ({ NAME, ...given }) => {
      const name = NAME.trim();
      if (name === '' || name.length > KEY_NAME_LENGTH_MAX)
        throw new UsageError(`NAME must have 1 to ${KEY_NAME_LENGTH_MAX} characters.`);
      const scopes = given.scopes === undefined ? DEFAULT_SCOPES : scopesFrom(given.scopes);
      const days = given.days === undefined ? undefined : daysFrom(given.days);
      return withDatabase(async (database) => {
        const merchantId = (await merchantOf(database, given.merchant)).id;
        const at = new Date();
        const expiresAt = days === undefined ? undefined : new Date(at.getTime() + days * DAY_MS);
        const key = await database.transaction(async (tx) => {
          const created = await createMachineKey(tx, merchantId, { name, scopes, expiresAt, at });
          if (created) await recordCommand(tx, 'machine_key.added', merchantId, { key_id: created.id });
          return created;
        });
        if (!key) throw new Failure(`The merchant already has ${KEYS_MAX} keys. Revoke one first.`);
        return {
          text: `Key ${key.id}, ${key.name}, was created with the scopes ${key.scopes.join(', ')}. It is shown only once:\n  ${key.key}`,
          json: key,
        };
      });
    },
  }),

  list: command({
    about: 'List a merchant’s keys',
    options: { merchant: MERCHANT },
    run: async ({ merchant }) => ({
      columns: [
        { title: 'ID', value: ({ id }) => id },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'KEY', value: ({ hint }) => `${hint}…` },
        { title: 'SCOPES', value: ({ scopes }) => scopes.join(' ') },
        {
          title: 'LAST USED (UTC)',
          value: ({ last_used_at }) => (last_used_at ? minute(last_used_at) : 'never'),
        },
        { title: 'EXPIRES (UTC)', value: ({ expires_at }) => (expires_at ? minute(expires_at) : 'never') },
      ],
      pages: [
        await withDatabase(async (database) =>
          listMachineKeys(database, (await merchantOf(database, merchant)).id),
        ),
      ],
      none: `This merchant has no keys. "${PROGRAM} key add NAME --merchant ${merchant}" creates one.`,
    }),
  }),

  revoke: command({
    about: 'Revoke a key: servers refuse it within a second',
    arguments: ['KEY_ID'],
    options: { merchant: MERCHANT },
    run: ({ KEY_ID, merchant }) => {
      if (!/^[1-9]\d{0,14}$/.test(KEY_ID)) throw new UsageError('KEY_ID is a number: see "key list".');
      const id = Number(KEY_ID);
      return withDatabase(async (database) => {
        const merchantId = (await merchantOf(database, merchant)).id;
        const name = await database.transaction(async (tx) => {
          const revoked = await revokeMachineKey(tx, merchantId, id, new Date());
          if (revoked !== undefined)
            await recordCommand(tx, 'machine_key.revoked', merchantId, { key_id: id });
          return revoked;
        });
        if (name === undefined) throw new Failure(`This merchant has no key ${id}: see "key list".`);
        announceRevocation(database);
        return { text: `Key ${id}, ${name}, was revoked.`, json: { id, name, revoked: true } };
      });
    },
  }),
};

function scopesFrom(given: string): Scope[] {
  const scopes = given.split(/[\s,]+/).filter((scope) => scope !== '');
  const unknown = scopes.find((scope) => !Object.hasOwn(SCOPES, scope));
  if (unknown !== undefined || scopes.length === 0) {
    throw new UsageError(`--scopes takes one or more of: ${SCOPE_NAMES.join(' ')}.`);
  }
  return scopes as Scope[];
}

function daysFrom(given: string): number {
  const days = Number(given);
  if (Number.isInteger(days) && days >= 1 && days <= KEY_DAYS_MAX) return days;
  throw new UsageError(`--days takes a whole number from 1 to ${KEY_DAYS_MAX}.`);
}
