import { createPasswords } from '../auth/passwords/passwords.ts';
import { migrate } from '../database/migrate.ts';
import { DEMO_USERS, seedDemo } from '../demo.ts';
import { storeAnswerSchemas } from '../notifications/kinds.ts';
import { command as define, Failure } from './command.ts';
import { withBareDatabase } from './database.ts';
import { createTable } from './terminal.ts';
import { recordCommand } from './who.ts';

export const command = define({
  about: 'Add the demo data to an empty database',
  run: () =>
    withBareDatabase(
      async (database, { hashesAtOnce, production, isLocal, host }) => {
        if (production) {
          throw new Failure('NODE_ENV is production, and the passwords of the demo are public.');
        }
        if (!isLocal) {
          throw new Failure(
            `HOST is ${host}: other machines could sign in, because the passwords of the demo are public.`,
          );
        }
        const now = () => new Date();
        await migrate(database, now);
        await storeAnswerSchemas(database);
        if (!(await seedDemo(database, createPasswords(hashesAtOnce), now(), { history: true }))) {
          throw new Failure('The database already has merchants or users. Nothing was changed.');
        }
        await recordCommand(database, 'demo.added', null);
        const table = createTable([
          { title: 'EMAIL', value: ({ email }) => email },
          { title: 'PASSWORD', value: ({ password }) => password },
          { title: 'ACCOUNT', value: ({ about }) => about },
        ]);
        return {
          text: `The demo data was added. Sign in with\n\n${table(DEMO_USERS)}`,
          json: { users: DEMO_USERS.map(({ email, password, about }) => ({ email, password, about })) },
        };
      },
      { make: true },
    ),
});
