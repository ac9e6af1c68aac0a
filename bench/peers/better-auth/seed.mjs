/** Creates tables and users, and prints a session cookie for each. It has no notifications. */
import { createHmac } from 'node:crypto';
import { hashPassword } from 'better-auth/crypto';
import { getMigrations } from 'better-auth/db/migration';
import { asAdmin } from '../../cluster.ts';
import { COLUMNS, MERCHANTS, PASSWORD } from '../../data.ts';
import { auth } from './auth.mjs';

const { DATABASE_URL, BETTER_AUTH_SECRET } = process.env;
const { email } = COLUMNS;
const { runMigrations } = await getMigrations(auth.options);
await runMigrations();
await auth.options.database.end();
const hash = await hashPassword(PASSWORD);
await asAdmin(DATABASE_URL, [
  `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
    select concat('user-', i), concat('Owner ', i), ${email}, true, now(), now() from generate_series(1, ${MERCHANTS}) i`,
  `insert into account (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
    select concat('account-', i), concat('user-', i), 'credential', concat('user-', i), '${hash}', now(), now()
    from generate_series(1, ${MERCHANTS}) i`,
  `insert into session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")
    select concat('session-', i), concat('token-of-32-characters-at-length-', i), concat('user-', i),
      now() + interval '7 days', now(), now()
    from generate_series(1, ${MERCHANTS}) i`,
  'vacuum analyze',
  'checkpoint',
]);

const cookies = Array.from({ length: MERCHANTS }, (_, index) => {
  const token = `token-of-32-characters-at-length-${index + 1}`;
  const signature = createHmac('sha256', BETTER_AUTH_SECRET).update(token).digest('base64');
  return encodeURIComponent(`${token}.${signature}`);
});
process.stdout.write(JSON.stringify(cookies));
