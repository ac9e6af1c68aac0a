import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openKeyring } from '../src/auth/keys.ts';
import { createPasswords } from '../src/auth/passwords.ts';
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
import { atTheEnd, type ServerProcess, startServer } from './processes.ts';

/** A seeded database, and the real server on it. */
export interface Place {
  engine: Engine;
  config: Config;
  passwordHash: string;
  /** One a merchant, in order. */
  tokens: string[];
  server: ServerProcess;
  idleMegabytes: number;
  /** One more process on the same data. */
  startAnother(): Promise<ServerProcess>;
  /** Works on the data beside the server, then leaves tidy tables. */
  arrange(work: (database: Database) => Promise<void>): Promise<void>;
  remove(): Promise<void>;
}

const IDLE_AFTER_MS = 2000;
/** As npm start has it: sources are compiled once, not at every start. */
export const COMPILE_CACHE = new URL('../node_modules/.cache/node', import.meta.url).pathname;
const now = () => new Date();

export async function openPlace(
  engine: Engine,
  options: {
    notifications: number;
    postgresUrl: string | undefined;
    profileFolder?: string | undefined;
    /** The second start counts: the first fills the cache of compiled sources. */
    startTwice?: boolean;
    /** Else nothing is sent: messages would go out for minutes after the answers, and fall into other rows. */
    sends?: boolean;
  },
): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-bench-'));
  const removeFolder = atTheEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const env = {
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DEMO: 'false',
    LOG_LEVEL: 'info',
    // The limit is counted as ever, and refuses nobody.
    RATE_LIMIT_PER_MINUTE: '100000000',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
    WORKER: String(options.sends ?? false),
    DATA_DIR: folder,
    ...(engine === 'postgres'
      ? { DATABASE_URL: await newDatabase(options.postgresUrl!), SECRET_KEY: newSecretKey() }
      : {}),
  };
  const config = readConfig(env);
  const passwordHash = await createPasswords(config.hashesAtOnce).hash(PASSWORD);

  const arrange: Place['arrange'] = async (work) => {
    const database = await openDatabase(config, 'command');
    try {
      await work(database);
    } finally {
      await database.close();
    }
    if (config.databaseUrl) await asAdmin(config.databaseUrl, ['vacuum analyze', 'checkpoint']);
  };
  let tokens: string[] = [];
  await arrange(async (database) => {
    await migrate(database, now);
    await storeAnswerSchemas(database);
    await seed(database, options.notifications, passwordHash);
    tokens = await signTokens(database, config);
  });

  const start = () => startServer(env, folder, options.profileFolder);
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
    arrange,
    async remove() {
      await server.stop();
      await removeFolder();
    },
  };
}

async function signTokens(database: Database, config: Config): Promise<string[]> {
  const keyring = await openKeyring(database, openVault(config), now);
  const tokens = createTokens(keyring, { issuer: config.tokenIssuer, ...config }, now);
  const merchants = Array.from({ length: MERCHANTS }, (_, index) => index + 1);
  return Promise.all(
    merchants.map((id) => tokens.sign('access', { userId: id, merchantId: id, role: 'user' }, `bench-${id}`)),
  );
}
