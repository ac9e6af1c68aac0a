import { ConfigError, loadedFile, readConfig } from '../config.ts';
import { type Database, DatabaseProblem } from '../database/database.ts';
import { databaseExists, openDatabase } from '../database/open.ts';
import { databaseMessage } from '../database/problems.ts';
import { systemProblem } from '../systemErrors.ts';
import { backupChecks } from './backup/checks.ts';
import { CHANNEL_CHECKS } from './channelChecks.ts';
import { CHECKS, type Finding } from './checks.ts';
import { command as define } from './command.ts';
import { CLUSTER_CHECKS } from './doctor/cluster.ts';
import { ENCRYPTION_CHECKS } from './keys/checks.ts';

const MARKS = { good: '✔', hint: '!', bad: '✖' } as const;

export const command = define({
  about: 'Find problems and show how to fix them',
  details: 'Changes nothing. The exit code is 1 if there is a problem (✖); hints (!) do not count.',
  options: { full: { type: 'boolean', about: 'Check a large database for damage, too: reads all of it' } },
  run: async ({ full }) => {
    const findings = await examine(full);
    const bad = findings.filter(({ state }) => state === 'bad').length;
    const lines = findings.flatMap(({ state, message, fix }) => [
      `${MARKS[state]} ${message}`,
      ...(fix === undefined ? [] : [`    ${fix}`]),
    ]);
    return { text: lines.join('\n'), json: { ok: bad === 0, findings }, failed: bad > 0 };
  },
});

async function examine(full: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const config = readSettings(findings);
  if (!config) return findings;

  let database: Database | undefined;
  let absence: Error | undefined;
  if (databaseExists(config)) {
    database = await openDatabase(config, 'command').catch((error) => {
      absence = error;
      return undefined;
    });
  }
  try {
    const checks = [
      ...CHECKS,
      ...CLUSTER_CHECKS,
      ...ENCRYPTION_CHECKS,
      ...backupChecks(full),
      ...CHANNEL_CHECKS,
    ];
    for (const check of checks) {
      findings.push(...(await check({ config, database, absence, now: () => new Date() }).catch(failed)));
    }
  } finally {
    await database?.close();
  }
  return findings;
}

function readSettings(findings: Finding[]) {
  findings.push({ state: 'good', message: `Settings: ${loadedFile() ?? 'only the environment'}.` });
  try {
    const config = readConfig();
    findings.push({ state: 'good', message: 'The settings are valid.' });
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings.push(...error.problems.map((message) => ({ state: 'bad' as const, message })));
    findings.push({
      state: 'hint',
      message: 'The other checks did not run.',
      fix: 'Fix the settings first.',
    });
    return undefined;
  }
}

const problemOf = (error: NodeJS.ErrnoException): string =>
  error instanceof DatabaseProblem
    ? error.message
    : (databaseMessage(error) ?? systemProblem(error) ?? `${error.code ?? error.constructor.name}.`);

/** A check that fails is a finding, too; the others still run. */
const failed = (error: NodeJS.ErrnoException): Finding[] => [
  {
    state: 'bad',
    message: `A check failed: ${problemOf(error)}`,
    fix: 'Run this as the user who runs Deskbell.',
  },
];
