import { readVault } from '../../auth/vault.ts';
import { isUnverified } from '../../database/address.ts';
import { type Check, good, hint, withTables } from '../checks.ts';
import { reportSealed } from './sealed.ts';

/** What the doctor finds about encryption. */

const databaseTls: Check = async ({ config: { databaseUrl, databaseDirectUrl } }) =>
  Object.entries({ DATABASE_URL: databaseUrl, DATABASE_DIRECT_URL: databaseDirectUrl }).flatMap(
    ([name, url]) =>
      url !== undefined && isUnverified(url)
        ? hint(
            `${name} has sslmode=require: the connection is encrypted, but nobody checks which server answers.`,
            'Use sslmode=verify-full, with sslrootcert if the server’s authority is not a public one.',
          )
        : [],
  );

/** While the key changes. */
const previousKey = withTables(async ({ config, database }) => {
  const vault = readVault(config);
  if (!vault?.change) return [];
  const { previousNeeded, summary } = await reportSealed(database, vault);
  return previousNeeded ? hint(summary, 'See "Keys" in docs/production.md.') : good(summary);
});

export const ENCRYPTION_CHECKS: readonly Check[] = [databaseTls, previousKey];
