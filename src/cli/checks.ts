import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { keysOpen, listKeys } from '../auth/keys.ts';
import { createPasswords } from '../auth/passwords/passwords.ts';
import { readVault } from '../auth/vault.ts';
import { riskySettings } from '../config/risks.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { migrationStatus } from '../database/migrate.ts';
import { filesOpenToOthers } from '../database/sqliteFolder.ts';
import { listChanges } from '../database/upgrade/changes.ts';
import { clockAheadMs, databaseVersion, newestTime } from '../database/vitals.ts';
import { openDemoUsers } from '../demo.ts';
import { listeningProblem } from '../http/listening.ts';
import { listFailing } from '../jobs/leases.ts';
import { createEmbed, type EmbeddingsFailure } from '../knowledge/embeddings/client.ts';
import { listStorage } from '../merchants/storage.ts';
import { isEncodedKey, secretKeyProblem } from '../secrets.ts';
import { storedBytes } from '../storage.ts';
import { VERSION } from '../version.ts';
import { PROGRAM } from './command.ts';
import { changeProgress, databasePlace } from './database.ts';
import { disk } from './doctor/disk.ts';
import { count } from './terminal.ts';

export interface Finding {
  state: 'good' | 'hint' | 'bad';
  message: string;
  fix?: string;
}

interface CheckContext {
  config: Config;
  /** Undefined if it cannot be opened or does not exist yet. */
  database: Database | undefined;
  absence: Error | undefined;
  now: () => Date;
}

export type Check = (context: CheckContext) => Promise<Finding[]>;

export const good = (message: string): Finding[] => [{ state: 'good', message }];
export const hint = (message: string, fix: string): Finding[] => [{ state: 'hint', message, fix }];
export const bad = (message: string, fix: string): Finding[] => [{ state: 'bad', message, fix }];

const KEY_AGE_MAX_DAYS = 180;
const CLOCK_APART_MAX_MS = 5000;
const DAY_MS = 86_400_000;

const dataFolder: Check = async ({ config }) => {
  if (config.databaseUrl !== undefined) return [];
  const { dataDir } = config;
  const exists = existsSync(dataDir);
  try {
    accessSync(exists ? dataDir : existingParent(dataDir), constants.W_OK | constants.X_OK);
  } catch {
    return bad(
      `The data folder ${dataDir} is not writable.`,
      'Make it writable for the user who runs Deskbell, or set DATA_DIR.',
    );
  }
  return exists
    ? good(`The data folder ${dataDir} is writable.`)
    : hint(`The data folder ${dataDir} does not exist yet.`, 'The server creates it when it first starts.');
};

function existingParent(folder: string): string {
  return existsSync(folder) || folder === dirname(folder) ? folder : existingParent(dirname(folder));
}

const dataFiles: Check = async ({ config }) => {
  if (config.databaseUrl !== undefined || !existsSync(config.dataDir)) return [];
  // SQLite gives its other files the mode of the database, and they may exist only while this command reads it.
  const open = filesOpenToOthers(config.dataDir).filter((file) => !/\.db-\w+$/.test(file));
  if (open.length > 0) {
    return open.flatMap((file) =>
      bad(`Other users of this machine can read ${file}.`, `Run chmod 600 ${file}`),
    );
  }
  return good('Only their owner can read Deskbell’s files in the data folder.');
};

const secretFile: Check = async ({ config }) => {
  const { secretKeyFile: file } = config;
  if (config.secretKey !== undefined || !existsSync(file)) return [];
  const problem = secretKeyProblem(readFileSync(file, 'utf8').trim());
  return problem ? bad(`The key in ${file} ${problem}`, 'Restore the file.') : [];
};

const database: Check = async ({ config, database, absence }) => {
  if (database)
    return good(`The database responds: ${await databaseVersion(database)}, ${databasePlace(config)}.`);
  if (!absence) return hint('There is no database yet.', 'The server creates it when it first starts.');
  return bad(
    absence.message,
    config.databaseUrl === undefined ? 'Fix the folder, or set DATA_DIR.' : fixOf(absence.message),
  );
};

/** The message may already say what to do, and then another advice would be wrong. */
function fixOf(problem: string): string {
  if (/PgBouncer|not complete/.test(problem)) return 'See "PostgreSQL" in docs/production.md.';
  if (/with or without Citus/.test(problem)) return 'See "Other engines" in docs/scale.md.';
  if (problem.includes('db distribute')) return 'See "Spread over a cluster" in docs/scale.md.';
  if (problem.includes('different databases')) return 'Correct the one that leads to the wrong database.';
  if (problem.includes('older than')) return 'Upgrade PostgreSQL.';
  const setting = problem.includes('DATABASE_DIRECT_URL') ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
  return /nothing answers|timeout|terminated/i.test(problem)
    ? `Start it, or correct ${setting}.`
    : `Correct ${setting}, or what the message names.`;
}

const migrations: Check = async ({ database }) => {
  if (!database) return [];
  try {
    const known = await migrationStatus(database);
    const pending = known.filter(({ applied_at }) => applied_at === null).length;
    const newer = known.filter((migration) => migration.newer).length;
    if (pending > 0)
      return bad(
        `${count(pending, 'migration')} pending.`,
        `Run "${PROGRAM} db migrate" or start the server.`,
      );
    return newer > 0
      ? hint(
          `The tables have ${count(newer, 'migration')} of a newer version. Deskbell ${VERSION} can use them.`,
          'Upgrade or roll back all servers and workers, so that they have the same version.',
        )
      : good('The tables are up to date.');
  } catch (error) {
    return bad(
      (error as Error).message,
      'Run the Deskbell version that this database belongs to, or a newer one.',
    );
  }
};

/** For checks that need the tables. If tables are missing, only the check above reports it. */
export const withTables =
  (check: (context: CheckContext & { database: Database }) => Promise<Finding[]>): Check =>
  async (context) => {
    const { database } = context;
    if (!database || (await migrations(context)).some(({ state }) => state === 'bad')) return [];
    return check({ ...context, database });
  };

const changes = withTables(async ({ database }) =>
  (await listChanges(database)).flatMap((change) =>
    hint(
      changeProgress(change),
      'Servers and workers do this beside their other work. Let at least one run.',
    ),
  ),
);

const jobs = withTables(async ({ database, now }) =>
  (await listFailing(database, now())).flatMap(({ job, key, failing_since }) => {
    const [merchantId] = key.split(' ');
    const whose = merchantId === '0' ? '' : ` of merchant ${merchantId}`;
    return hint(
      `The job "${job}"${whose} has failed since ${failing_since}.`,
      'It is tried again and again. The log of servers and workers says why it fails.',
    );
  }),
);

const keys = withTables(async ({ config, database, now }) => {
  const [newest] = await listKeys(database);
  if (!newest) return hint('There are no signing keys yet.', 'The server creates one when it first starts.');
  const lost = `If it is lost, "${PROGRAM} keys rotate --revoke" continues without it; everybody must sign in again.`;
  const vault = readVault(config);
  if (!vault) return bad(`${config.secretKeyFile} is missing.`, `Restore it. ${lost}`);
  if (!(await keysOpen(database, vault))) {
    return bad(
      'SECRET_KEY cannot decrypt the signing keys: it is not the key of this database.',
      `Set the right one, or the key before it as SECRET_KEY_PREVIOUS. ${lost}`,
    );
  }
  const days = Math.floor((now().getTime() - Date.parse(newest.created_at)) / DAY_MS);
  const age = [...good('SECRET_KEY can decrypt the signing keys.')];
  if (config.secretKey !== undefined && !isEncodedKey(config.secretKey)) {
    age.push(
      ...hint(
        'SECRET_KEY is neither base64 nor hex: it may be easier to guess than 32 random bytes.',
        `To replace it, set a key of "${PROGRAM} secret", and the old one as SECRET_KEY_PREVIOUS: see docs/production.md.`,
      ),
    );
  }
  if (days > KEY_AGE_MAX_DAYS) {
    age.push(
      ...hint(`The signing key is ${days} days old.`, `Run "${PROGRAM} keys rotate": nobody is signed out.`),
    );
  }
  return age;
});

const clock = withTables(async ({ database, now }) => {
  const fix = 'Set the clock and use NTP.';
  const ahead = (await clockAheadMs(database, now)) ?? 0;
  if (Math.abs(ahead) > CLOCK_APART_MAX_MS) {
    return bad(
      `The clock is ${seconds(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the database's.`,
      fix,
    );
  }
  const behind = ((await newestTime(database))?.getTime() ?? 0) - now().getTime();
  if (behind > CLOCK_APART_MAX_MS) {
    return bad(`The clock is ${seconds(behind)} behind the newest entry of the database.`, fix);
  }
  return good('The clock agrees with the database.');
});

const seconds = (ms: number) => count(Math.round(ms / 1000), 'second');

const port: Check = async ({ config: { host, port } }) => {
  if (port === 0) return good('PORT is 0: the system chooses a free port.');
  const reachable =
    { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host);
  const url = `http://${reachable}:${port}`;
  if (await deskbellAnswers(url)) return good(`Deskbell responds at ${url}.`);
  const problem = await listeningProblem(host, port);
  if (problem === undefined) return good(`Port ${port} is free.`);
  if (problem === 'EADDRINUSE')
    return bad(`Port ${port} is in use by another program.`, 'Stop it, or set PORT.');
  if (problem === 'EACCES') return bad(`This user may not use port ${port}.`, 'Set PORT above 1023.');
  return bad(
    `HOST ${host} is not an address of this machine.`,
    'Set HOST to 127.0.0.1, or to 0.0.0.0 for all.',
  );
};

async function deskbellAnswers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) });
    const body = (await response.json()) as { status?: unknown };
    return body.status === 'ok' && response.headers.has('x-request-id');
  } catch {
    return false;
  }
}

const redis: Check = async ({ config: { redisUrl } }) => {
  if (redisUrl === undefined) return [];
  const { Redis } = await import('ioredis');
  const client = new Redis(redisUrl, { lazyConnect: true, connectTimeout: 2000, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
    return good('Redis responds.');
  } catch {
    return bad('Redis does not respond: requests are not limited.', 'Start it, or correct REDIS_URL.');
  } finally {
    client.disconnect();
  }
};

const risks: Check = async ({ config }) =>
  riskySettings(config).flatMap(({ message, fix }) => hint(message, fix));

const production: Check = async ({ config }) => {
  if (!config.production) return [];
  const findings: Finding[] = [];
  if (config.corsOrigins === '*') {
    findings.push(
      ...hint('CORS_ORIGINS is *: every website can call the API.', 'List only the origins that need it.'),
    );
  }
  if (config.trustProxy === false && config.isLocal) {
    findings.push(
      ...hint(
        'TRUST_PROXY is not set: behind a proxy all visitors share one address and its limits.',
        'Set TRUST_PROXY=1.',
      ),
    );
  }
  return findings;
};

const demoUsers = withTables(async ({ config, database }) => {
  // The server disables them in these cases.
  const isPublic = config.production || !config.isLocal;
  const report = isPublic ? bad : hint;
  const open = await openDemoUsers(database, createPasswords(config.hashesAtOnce));
  return open.flatMap((email) =>
    report(
      `${email} still has the demo's public password.`,
      isPublic
        ? `The server disables it when it starts, or run "${PROGRAM} user disable ${email}".`
        : `This is fine for a trial. Otherwise run "${PROGRAM} user disable ${email}".`,
    ),
  );
});

/** From this share of its allowance on, the operator should know. */
const STORAGE_HINT_SHARE = 0.9;

const storage = withTables(async ({ config, database }) => {
  const bytesMax = config.storagePerMerchantMb * 1_000_000;
  if (bytesMax === 0) return [];
  const nearlyFull = (await listStorage(database, storedBytes)).filter(
    ({ bytes }) => bytes > bytesMax * STORAGE_HINT_SHARE,
  );
  return nearlyFull.flatMap(({ id, name, bytes }) =>
    hint(
      `Merchant ${id}, ${name}, stores ${Math.round(bytes / 1_000_000).toLocaleString('en')} of ${config.storagePerMerchantMb.toLocaleString('en')} MB.`,
      'Raise STORAGE_PER_MERCHANT_MB, or delete old notifications and documents. When it is full, new questions are refused.',
    ),
  );
});

const EMBEDDINGS_TIMEOUT_MS = 10_000;

const embeddings: Check = async ({ config }) => {
  if (!config.embeddings) return [];
  const { host } = new URL(config.embeddings.url);
  const failure = await createEmbed(config.embeddings)(['Hello'], { timeoutMs: EMBEDDINGS_TIMEOUT_MS }).then(
    () => undefined,
    (error: EmbeddingsFailure) => error.code,
  );
  return failure === undefined
    ? good(`The embeddings endpoint at ${host} responds.`)
    : bad(
        `The embeddings endpoint at ${host} does not work (${failure}): texts are compared by their words only.`,
        'Start it, or correct EMBEDDINGS_URL, EMBEDDINGS_MODEL and EMBEDDINGS_API_KEY.',
      );
};

/** In display order. */
export const CHECKS: readonly Check[] = [
  dataFolder,
  disk,
  dataFiles,
  secretFile,
  database,
  migrations,
  changes,
  jobs,
  keys,
  clock,
  port,
  redis,
  embeddings,
  risks,
  production,
  demoUsers,
  storage,
];
