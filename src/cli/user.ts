import { resetFactors } from '../auth/factors/change.ts';
import { createPasswords } from '../auth/passwords/passwords.ts';
import { passwordProblem } from '../auth/passwords/policy.ts';
import {
  changeRole,
  disableUser,
  enableUser,
  findUserByEmail,
  insertUser,
  type ListedUser,
  listUsers,
  ROLES,
  type Role,
  setPassword,
} from '../auth/users.ts';
import type { Config } from '../config.ts';
import { PASSWORD_LENGTH_MIN } from '../contract/plain.ts';
import type { Database } from '../database/database.ts';
import { hasDemoPassword } from '../demo.ts';
import { findMerchant } from '../merchants/store.ts';
import { command, Failure, PROGRAM, UsageError } from './command.ts';
import { merchantOf, withDatabase } from './database.ts';
import { deleteUser, exportUser } from './erasure/user.ts';
import { minute, readPassword } from './terminal.ts';
import { emailOf, nameOf } from './texts.ts';
import { COMMAND_LINE } from './who.ts';

const ASKED =
  `The command asks for the password: at least ${PASSWORD_LENGTH_MIN} characters, and hard to guess. ` +
  'Without a terminal it reads the first line of standard input.';
const PASSWORD_REFUSED =
  'Others can read a password on the command line, so there is no such option. The command asks for it, ' +
  'or reads the first line of standard input.';
const refused = { password: PASSWORD_REFUSED, pass: PASSWORD_REFUSED, p: PASSWORD_REFUSED };

/** The roles of a merchant's people. */
const STAFF_ROLES = ['owner', 'user'] as const satisfies readonly Role[];

export const commands = {
  add: command({
    about: 'Add a user',
    details: `${ASKED}\nWithout --merchant the user is an operator.`,
    options: {
      email: {
        type: 'string',
        value: 'ADDRESS',
        about: 'For signing in; case does not matter',
        required: true,
      },
      name: { type: 'string', value: 'NAME', about: 'Shown to others', required: true },
      merchant: { type: 'string', value: 'ID', about: 'The merchant whose notifications the user sees' },
      role: {
        type: 'string',
        value: ROLES.join('|'),
        about: 'Default: owner for a merchant’s first user, then user; admin without a merchant',
      },
    },
    refused,
    run: async (given) => {
      const email = emailOf(given.email);
      const name = nameOf(given.name);
      const wanted = ROLES.find((known) => known === given.role);
      if (given.role !== undefined && !wanted) throw new UsageError(`--role is one of ${ROLES.join(', ')}.`);
      if (wanted !== undefined && wanted !== 'admin' && given.merchant === undefined)
        throw new UsageError(`The role ${wanted} needs --merchant.`);
      if (wanted === 'admin' && given.merchant !== undefined)
        throw new UsageError('An admin is an operator and belongs to no merchant: leave out --merchant.');

      return withDatabase(async (database) => {
        const merchant = given.merchant === undefined ? null : await merchantOf(database, given.merchant);
        // Check before asking for the password. The insert decides.
        if (await findUserByEmail(database, email)) throw emailTaken(email);
        const role = wanted ?? (await defaultRole(database, merchant?.id));
        const user = { merchantId: merchant?.id ?? null, email, name, role, at: new Date() };
        const passwordHash = await newPasswordHash([email, name, merchant?.name ?? '']);
        const id = await database.transaction((tx) =>
          insertUser(tx, { ...user, passwordHash }, COMMAND_LINE),
        );
        if (id === undefined) throw emailTaken(email);
        return {
          text: `User ${id}, ${email}, was added: ${role}, ${merchant ? merchant.name : 'no merchant'}.`,
          json: await findUserByEmail(database, email),
        };
      });
    },
  }),

  list: command({
    about: 'List the users',
    options: { merchant: { type: 'string', value: 'ID', about: 'Only this merchant’s' } },
    run: async (given) => {
      const users = await withDatabase(async (database) =>
        listUsers(
          database,
          given.merchant === undefined ? undefined : (await merchantOf(database, given.merchant)).id,
        ),
      );
      return {
        columns: [
          { title: 'ID', value: ({ id }) => id },
          { title: 'EMAIL', value: ({ email }) => email },
          { title: 'NAME', value: ({ name }) => name },
          { title: 'ROLE', value: ({ role }) => role },
          { title: 'MERCHANT', value: ({ merchant_id }) => merchant_id },
          { title: 'ADDED (UTC)', value: ({ created_at }) => minute(created_at) },
          { title: '2FA', value: ({ second_factor_at }) => (second_factor_at ? 'on' : 'off') },
          { title: 'STATE', value: ({ disabled_at }) => (disabled_at ? 'disabled' : 'enabled') },
        ],
        pages: [users],
        none: `There are no users yet. "${PROGRAM} user add --help" shows how to add one.`,
      };
    },
  }),

  password: command({
    about: 'Set a new password for a user',
    details: `${ASKED}\nThe user is signed out everywhere.`,
    arguments: ['EMAIL'],
    refused,
    run: ({ EMAIL }) =>
      changeUser(EMAIL, async (database, user) => {
        const merchant =
          user.merchant_id === null ? undefined : await findMerchant(database, user.merchant_id);
        const passwordHash = await newPasswordHash([user.email, user.name, merchant?.name ?? '']);
        await setPassword(database, user.id, passwordHash, new Date(), COMMAND_LINE);
        return `${user.email} has a new password and is signed out everywhere.`;
      }),
  }),

  role: command({
    about: 'Make a merchant’s user an owner, or no longer',
    details: `An owner can also manage the merchant, for example read its audit log. ROLE is one of ${STAFF_ROLES.join(', ')}.
If the role changes, the user is signed out everywhere.`,
    arguments: ['EMAIL', 'ROLE'],
    run: ({ EMAIL, ROLE }) => {
      const role = STAFF_ROLES.find((known) => known === ROLE);
      if (!role) throw new UsageError(`ROLE is one of ${STAFF_ROLES.join(', ')}.`);
      return changeUser(EMAIL, async (database, user) => {
        if (user.merchant_id === null) throw new Failure(`${user.email} is an operator and has no merchant.`);
        if (user.role === role) return `${user.email} already has the role ${role}.`;
        await changeRole(database, user.id, role, new Date(), COMMAND_LINE);
        return `${user.email} now has the role ${role} and is signed out everywhere.`;
      });
    },
  }),

  disable: command({
    about: 'Disable a user',
    details: 'The user is signed out everywhere, within a second.',
    arguments: ['EMAIL'],
    run: ({ EMAIL }) =>
      changeUser(EMAIL, async (database, user) => {
        await disableUser(database, user.id, new Date(), COMMAND_LINE);
        return `${user.email} is disabled and signed out everywhere.`;
      }),
  }),

  enable: command({
    about: 'Enable a disabled user',
    arguments: ['EMAIL'],
    run: ({ EMAIL }) =>
      changeUser(EMAIL, async (database, user, { production, isLocal, hashesAtOnce }) => {
        const isPublic = production || !isLocal;
        if (isPublic && (await hasDemoPassword(database, createPasswords(hashesAtOnce), user.email))) {
          throw new Failure(
            `${user.email} still has the demo's password, which everybody knows. Set another one first: ` +
              `${PROGRAM} user password ${user.email}`,
          );
        }
        await enableUser(database, user.id, new Date(), COMMAND_LINE);
        return `${user.email} can sign in again.`;
      }),
  }),

  'reset-factors': command({
    about: 'Remove the second factors of a user',
    details:
      'For a user who has lost the authenticator app, the passkeys and the recovery codes. Make sure that it is really\n' +
      'this user who asks. The user is signed out everywhere, and then signs in with the password alone.',
    arguments: ['EMAIL'],
    run: ({ EMAIL }) =>
      changeUser(EMAIL, async (database, user) => {
        const hadFactors = await resetFactors(database, user.id, COMMAND_LINE, new Date());
        return hadFactors
          ? `${user.email} has no second factor any more and is signed out everywhere.`
          : `${user.email} has no second factor. Nothing was changed.`;
      }),
  }),

  export: exportUser,
  delete: deleteUser,
};

async function defaultRole(database: Database, merchantId: number | undefined): Promise<Role> {
  if (merchantId === undefined) return 'admin';
  return (await listUsers(database, merchantId)).length === 0 ? 'owner' : 'user';
}

/** Changes the user with this email address. */
function changeUser(
  given: string,
  change: (database: Database, user: ListedUser, config: Config) => Promise<string>,
) {
  const email = emailOf(given);
  return withDatabase(async (database, config) => {
    const user = await findUserByEmail(database, email);
    if (!user) throw new Failure(`There is no user ${email}.`);
    const text = await change(database, user, config);
    return { text, json: await findUserByEmail(database, email) };
  });
}

async function newPasswordHash(known: readonly string[]): Promise<string> {
  const password = await readPassword();
  const problem = await passwordProblem(password, known);
  if (problem) throw new Failure(`${problem} Nothing was changed.`);
  return createPasswords(1).hash(password);
}

const emailTaken = (email: string) => new Failure(`User ${email} already exists.`);
