import { postgresAddressProblem } from '../database/address.ts';
import { PROGRAM } from '../installation.ts';
import { secretKeyProblem } from '../secrets.ts';

export function checkDatabaseUrls(
  databaseUrl: string | undefined,
  directUrl: string | undefined,
  problems: string[],
): void {
  for (const [name, url] of Object.entries({ DATABASE_URL: databaseUrl, DATABASE_DIRECT_URL: directUrl })) {
    const problem = url && postgresAddressProblem(url);
    if (problem) problems.push(`${name} ${problem}`);
  }
  if (directUrl !== undefined && databaseUrl === undefined)
    problems.push('DATABASE_URL must be set with DATABASE_DIRECT_URL.');
}

interface Keys extends Record<'secretKey' | 'secretKeyPrevious' | 'databaseUrl', string | undefined> {}

export function checkSecretKeys(
  { secretKey, secretKeyPrevious, databaseUrl }: Keys,
  problems: string[],
): void {
  const problem = secretKey === undefined ? undefined : secretKeyProblem(secretKey);
  if (problem) problems.push(`SECRET_KEY ${problem} Run "${PROGRAM} secret" to create one.`);
  // A new key would be wrong for a database that was moved or restored.
  if (secretKey === undefined && databaseUrl)
    problems.push(
      'SECRET_KEY must be set with DATABASE_URL. Set the key of this database; ' +
        `only for a new database, run "${PROGRAM} secret" to create one.`,
    );
  if (secretKeyPrevious !== undefined && secretKeyPrevious === secretKey) {
    problems.push('SECRET_KEY_PREVIOUS must be the key before SECRET_KEY, not the same key.');
  }
}
