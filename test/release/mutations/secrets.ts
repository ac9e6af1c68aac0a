import { caughtBy, type Mutation } from './mutation.ts';

/** Keys, secrets, and the ways to PostgreSQL. */
export const SECRET_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/database/keyChange.test.ts', [
    {
      name: 'a server encrypts with the new key while others know only the old one',
      file: 'src/auth/keyChange.ts',
      find: 'inARow = (await areAll(database, KNOWS(keyName))) ? inARow + 1 : 0;',
      replace: 'inARow += 1;',
      test: 'works with servers that know only the old key, and nothing is encrypted with the new one before',
    },
    {
      name: 'devices with alerts keep the fingerprint of the old key',
      file: 'src/reseal.ts',
      find: '...(fingerprint ? [fingerprint.of(plain, change.current)] : []),',
      replace: '...(fingerprint ? [fingerprint.of(plain, { fingerprint: () => plain })] : []),',
      test: 'signs nobody out and loses nothing, and the previous key can be removed when everything is encrypted again',
    },
  ]),
  ...caughtBy('test/database/pgbouncer.test.ts', [
    {
      name: 'a statement through PgBouncer runs on when nobody waits for it',
      file: 'src/database/postgres.ts',
      find: `checkSql: isPooled ? CANCEL_LATE : 'select 1',`,
      replace: `checkSql: 'select 1',`,
      test: 'still has time-outs: a statement that nobody waits for is cancelled, and so is an idle transaction',
    },
  ]),
  ...caughtBy('test/database/postgresTls.test.ts', [
    {
      name: 'sslmode=require refuses a certificate of an unknown authority',
      file: 'src/database/address.ts',
      find: `const isLibpq = sslMode !== undefined && sslMode !== 'no-verify';`,
      replace: `const isLibpq = sslMode === 'verify-full';`,
      test: 'require: encrypted, whoever answers',
    },
  ]),
];
