import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openKeyring } from '../src/auth/keys.ts';
import { createPasswords } from '../src/auth/passwords/passwords.ts';
import { createTokens } from '../src/auth/tokens.ts';
import { openVault } from '../src/auth/vault.ts';
import { type Config, readConfig } from '../src/config.ts';
import type { Database, Engine } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { openDatabase } from '../src/database/open.ts';
import { storeAnswerSchemas } from '../src/notifications/kinds.ts';
import { newSecretKey } from '../src/secrets.ts';
import { asAdmin, newDatabase } from './cluster.ts';
import { MERCHANTS, PASSWORD, seed } from './data.ts';
import { onExit, type ServerProcess, startServer } from './processes.ts';

/** A seeded database, and the real server on it. */
export interface Instance {
  engine: Engine;
  config: Config;
  passwordHash: string;
  /** One for each merchant, in order. */
  tokens: string[];
  server: ServerProcess;
  idleMegabytes: number;
  /** Starts another process on the same data. */
  startAnother(settings?: Record<string, string>): Promise<ServerProcess>;
  /** Changes the data while the server runs, then vacuums the tables. */
  changeData(work: (database: Database) => Promise<void>): Promise<void>;
  /** Works on the data and returns a result, without vacuuming. */
  query<T>(work: (database: Database) => Promise<T>): Promise<T>;
  remove(): Promise<void>;
}

const IDLE_AFTER_MS = 2000;
/** As with npm start: sources are compiled once, not at every start. */
export const COMPILE_CACHE = new URL('../node_modules/.cache/node', import.meta.url).pathname;
const now = () => new Date();

export async function openInstance(
  engine: Engine,
  options: {
    notifications: number;
    postgresUrl: string | undefined;
    profileFolder?: string | undefined;
    /** Measures the second start, because the first one fills the compile cache. */
    startTwice?: boolean;
    /** Instead of the usual data. */
    data?: { merchants: number; fill(database: Database, passwordHash: string): Promise<void> };
    /** Runs the worker. Without it nothing is sent, so that messages of one row do not slow down the next. */
    sends?: boolean;
    /** More settings of the server. */
    settings?: Record<string, string>;
  },
): Promise<Instance> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-bench-'));
  const removeFolder = onExit(async () => rmSync(folder, { recursive: true, force: true }));
  const env = {
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DEMO: 'false',
    LOG_LEVEL: 'info',
    // The rate limit counts as usual, but never refuses.
    RATE_LIMIT_PER_MINUTE: '100000000',
    SESSIONS_PER_USER: '10000',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
    WORKER: String(options.sends ?? false),
    DATA_DIR: folder,
    ...options.settings,
    ...(engine === 'postgres'
      ? { DATABASE_URL: await newDatabase(options.postgresUrl!), SECRET_KEY: newSecretKey() }
      : {}),
  };
  const config = readConfig(env);
  const passwordHash = await createPasswords(config.hashesAtOnce).hash(PASSWORD);

  const query: Instance['query'] = async (work) => {
    const database = await openDatabase(config, 'command');
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  };
  const changeData: Instance['changeData'] = async (work) => {
    await query(work);
    if (config.databaseUrl) await asAdmin(config.databaseUrl, ['vacuum analyze', 'checkpoint']);
  };
  let tokens: string[] = [];
  await changeData(async (database) => {
    await migrate(database, now);
    await storeAnswerSchemas(database);
    if (options.data) await options.data.fill(database, passwordHash);
    else await seed(database, options.notifications, passwordHash);
    tokens = await signTokens(database, config, options.data?.merchants ?? MERCHANTS);
  });

  const start = (settings: Record<string, string> = {}) =>
    startServer({ ...env, ...settings }, folder, options.profileFolder);
  if (options.startTwice) await (await start()).stop();
  const server = await start();
  await sleep(IDLE_AFTER_MS);
  return {
    engine,
    config,
    passwordHash,
    tokens,
    server,
    idleMegabytes: server.residentMegabytes(),
    startAnother: start,
    changeData,
    query,
    async remove() {
      await server.stop();
      await removeFolder();
    },
  };
}

async function signTokens(database: Database, config: Config, count: number): Promise<string[]> {
  const keyring = await openKeyring({ database, vault: openVault(config), log: console, now });
  const nothing = { isRevoked: () => false };
  const tokens = createTokens(keyring, nothing, { issuer: config.tokenIssuer, ...config }, now);
  const merchants = Array.from({ length: count }, (_, index) => index + 1);
  return Promise.all(
    merchants.map((id) => {
      const sessionId = `bench-session-${id}`;
      return tokens.sign('access', { userId: id, merchantId: id, role: 'user', sessionId }, `bench-${id}`);
    }),
  );
}
