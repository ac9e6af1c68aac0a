import { createPasswords } from '../auth/passwords.ts';
import {
  changePassword,
  disableUser,
  enableUser,
  findUserByEmail,
  insertUser,
  type ListedUser,
  listUsers,
  ROLES,
} from '../auth/store.ts';
import type { Database } from '../database/database.ts';
import { command, Failure, PROGRAM, UsageError } from './command.ts';
import { merchantOf, withDatabase } from './database.ts';
import { minute, readPassword } from './terminal.ts';
import { checkPassword, emailOf, nameOf } from './texts.ts';

const ASKED =
  'The command asks for the password. Without a terminal it reads the first line of standard input.';
const PASSWORD_REFUSED =
  'Others can read a password on the command line, so there is no such option. The command asks for it, ' +
  'or reads the first line of standard input.';
const refused = { password: PASSWORD_REFUSED, pass: PASSWORD_REFUSED, p: PASSWORD_REFUSED };

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
        about: 'Default: user with a merchant, admin without',
      },
    },
    refused,
    run: async (given) => {
      const email = emailOf(given.email);
      const name = nameOf(given.name);
      const role = ROLES.find((known) => known === (given.role ?? (given.merchant ? 'user' : 'admin')));
      if (!role) throw new UsageError(`--role is one of ${ROLES.join(', ')}.`);

      return withDatabase(async (database) => {
        const merchant = given.merchant === undefined ? null : await merchantOf(database, given.merchant);
        // Check before asking for the password. The insert decides.
        if (await findUserByEmail(database, email)) throw emailTaken(email);
        const user = { merchantId: merchant?.id ?? null, email, name, role, at: new Date() };
        const id = await insertUser(database, { ...user, passwordHash: await newPasswordHash() });
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
        await changePassword(database, user.id, await newPasswordHash(), new Date());
        return `${user.email} has a new password and is signed out everywhere.`;
      }),
  }),

  disable: command({
    about: 'Disable a user',
    details: 'The user is signed out everywhere, within a second.',
    arguments: ['EMAIL'],
    run: ({ EMAIL }) =>
      changeUser(EMAIL, async (database, user) => {
        await disableUser(database, user.id, new Date());
        return `${user.email} is disabled and signed out everywhere.`;
      }),
  }),

  enable: command({
    about: 'Enable a disabled user',
    arguments: ['EMAIL'],
    run: ({ EMAIL }) =>
      changeUser(EMAIL, async (database, user) => {
        await enableUser(database, user.id);
        return `${user.email} can sign in again.`;
      }),
  }),
};

/** Changes the user with this email address. */
function changeUser(given: string, change: (database: Database, user: ListedUser) => Promise<string>) {
  const email = emailOf(given);
  return withDatabase(async (database) => {
    const user = await findUserByEmail(database, email);
    if (!user) throw new Failure(`There is no user ${email}.`);
    const text = await change(database, user);
    return { text, json: await findUserByEmail(database, email) };
  });
}

async function newPasswordHash(): Promise<string> {
  const password = await readPassword();
  checkPassword(password);
  return createPasswords(1).hash(password);
}

const emailTaken = (email: string) => new Failure(`User ${email} already exists.`);
