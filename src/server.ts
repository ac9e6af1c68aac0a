import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { type Assistant, createAssistant } from './assistant/assistant.ts';
import { recordMigrations, SERVER } from './audit/record.ts';
import { createFactors } from './auth/factors/factors.ts';
import { followKeyChange, type KeyFollower } from './auth/keyChange.ts';
import { openKeyring } from './auth/keys.ts';
import { createMachineKeys } from './auth/machineKeys/verify.ts';
import { createPasswords, type Passwords } from './auth/passwords/passwords.ts';
import { openRevocations, type Revocations } from './auth/sessions/revocations.ts';
import { createTokens } from './auth/tokens.ts';
import { hasUsers } from './auth/users.ts';
import { openFittingVault } from './auth/vault.ts';
import { startBackground } from './background.ts';
import { riskySettings } from './config/risks.ts';
import type { Config } from './config.ts';
import { insertMessages } from './conversations/messages.ts';
import { findConversation } from './conversations/store.ts';
import { CHANGES, type Database } from './database/database.ts';
import { migrate } from './database/migrate.ts';
import { openDatabase, refuseIfSpreadMeanwhile } from './database/open.ts';
import { unspreadProblem } from './database/spread/status.ts';
import { createChannels } from './delivery/channels/merchantChannels.ts';
import { addAssistantMessage } from './delivery/channels/simulator/messages.ts';
import { reportFailures } from './delivery/failures.ts';
import { createOutbox } from './delivery/queue/enqueue.ts';
import { createDemoSignIns, disableDemoUsers, seedDemo } from './demo.ts';
import { createDrain, type Drain } from './http/drain.ts';
import { PROGRAM } from './installation.ts';
import type { Runner } from './jobs/runner.ts';
import { recordKnown } from './knowledge/confidence/store.ts';
import { createEndpoint } from './knowledge/embeddings/endpoint.ts';
import { createMeaning } from './knowledge/embeddings/meaning.ts';
import { createQuestionVectors } from './knowledge/embeddings/questions.ts';
import { createRanking, type Ranking } from './knowledge/ranking/rank.ts';
import { suggestDocuments } from './knowledge/suggestions.ts';
import { whileWaiting } from './merchants/store.ts';
import { createMetrics } from './metrics.ts';
import { storeAnswerSchemas } from './notifications/kinds.ts';
import { raise } from './notifications/raise.ts';
import { observe } from './observe.ts';
import { isEncodedKey } from './secrets.ts';
import { openStorage } from './storage.ts';
import { VERSION } from './version.ts';

export interface Server {
  app: FastifyInstance;
  database: Database;
  background: Runner;
  drain: Drain;
  close(): Promise<void>;
}

interface ServerOptions {
  demoHistory?: boolean;
  /** For tests. */
  keyCheckEveryMs?: number;
}

const NO_USERS =
  `There are no users yet. Create the first one: ${PROGRAM} merchant add "My shop" --country ES, then ` +
  `${PROGRAM} user add --merchant 1 --email me@shop.example --name "My name"`;
const CLOSE_IDLE_EVERY_MS = 50;

/** Opens every part, each after the parts that it needs. */
export async function openServer(
  config: Config,
  log: Logger,
  now = () => new Date(),
  { demoHistory = false, keyCheckEveryMs }: ServerOptions = {},
): Promise<Server> {
  const onWait = (why: string) => log.info(why);
  const opened = await openDatabase({ ...config, onWait }, 'serve', (error) =>
    log.warn({ code: (error as NodeJS.ErrnoException).code }, 'a database connection was lost'),
  );
  const metrics = createMetrics({ version: VERSION, engine: opened.engine, role: 'server' });
  const observed = await observe({ config, database: opened, metrics, log, now, role: 'server' });
  const { database, tracer } = observed;
  let revocations: Revocations | undefined;
  let keyFollower: KeyFollower | undefined;
  try {
    const applied = await migrate(database, now);
    for (const { version, name } of applied) log.info({ version, name }, 'migration applied');
    await recordMigrations(database, applied, SERVER, now());
    const unspread = await unspreadProblem(database);
    if (unspread) log.warn(unspread);
    await storeAnswerSchemas(database);
    const passwords = createPasswords(config.hashesAtOnce);
    if (config.demo && (await seedDemo(database, passwords, now(), { history: demoHistory }))) {
      log.info('demo data written');
    }
    if (config.production || !config.isLocal) await disableDemo(database, passwords, log, now());
    if (!(await hasUsers(database))) log.warn(NO_USERS);
    const vault = await openFittingVault(database, config);
    keyFollower = await followKeyChange({ database, vault, log, checkEveryMs: keyCheckEveryMs });
    await refuseIfSpreadMeanwhile(database);
    if (config.secretKey !== undefined && !isEncodedKey(config.secretKey)) {
      log.warn('SECRET_KEY is neither base64 nor hex: it still works for this database, but for no new one');
    }
    const keyring = await openKeyring({ database, vault, log, now });
    revocations = await openRevocations({ ...config, database, keyring, log, now });
    const tokens = createTokens(keyring, revocations, { issuer: config.tokenIssuer, ...config }, now);
    const machineKeys = createMachineKeys({ ...config, database, revocations, log, now });
    const onFailed = reportFailures(log, metrics.failed);
    const { embeddings } = config;
    const embed = embeddings && createEndpoint({ settings: embeddings, log, onRequest: metrics.embedding });
    if (config.production && config.channel.name === 'simulator') {
      log.warn(
        'CHANNEL is the simulator: messages of merchants without their own channel reach no real phone',
      );
    }
    for (const { message, fix } of riskySettings(config)) log.warn(`${message} ${fix}`);
    const channels = createChannels({ database, vault, now }, config);
    const outbox = createOutbox(database, config, onFailed);
    const meaning =
      embeddings &&
      embed &&
      createMeaning({
        queries: database,
        model: embeddings.model,
        questionVectors: createQuestionVectors({ ...embeddings, embed: embed.questions, now }),
      });
    const ranking = createRanking(database, meaning);
    const drain = createDrain();
    const app = await buildApp({
      config,
      database,
      keyring,
      revocations,
      tokens,
      machineKeys,
      passwords,
      vault,
      factors: createFactors({ database, vault, passwords, now }),
      channels,
      outbox,
      storage: openStorage(config),
      ranking,
      metrics,
      tracer,
      drain,
      log,
      now,
      assistant: openAssistant(database, ranking, log, now),
      demoUsers: config.demo ? createDemoSignIns(database, passwords) : async () => [],
    });
    const background = startBackground(
      {
        ...{ config, database, vault, channels, outbox, embed, metrics, log, now, keyCheckEveryMs },
        ...{ onAttempt: metrics.attempt, onFailed, tracer },
      },
      'server',
    );
    return {
      app,
      database,
      background,
      drain,
      async close() {
        keyFollower?.stop();
        // It finishes what it is sending while the clients disconnect.
        const sent = background.stop();
        // A connection becomes idle when its last response is sent, so we close idle ones repeatedly.
        const closeIdle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
        await app.close().finally(() => clearInterval(closeIdle));
        await sent;
        revocations?.close();
        log.info('stopped');
        // Before the database: the last metrics are read from it.
        await observed.close();
        await database.close();
      },
    };
  } catch (error) {
    revocations?.close();
    keyFollower?.stop();
    await observed.close();
    await database.close();
    throw error;
  }
}

/** Their passwords are public, and this server is not only for its own machine. */
async function disableDemo(database: Database, passwords: Passwords, log: Logger, at: Date): Promise<void> {
  const emails = await disableDemoUsers(database, passwords, at);
  if (emails.length === 0) return;
  log.warn({ users: emails.join(', ') }, 'demo users disabled, because their passwords are public');
}

/** The demo's assistant is not a feature: it uses features, as a merchant's own assistant does over HTTP. */
function openAssistant(database: Database, ranking: Ranking, log: Logger, now: () => Date): Assistant {
  return createAssistant({
    log,
    // It compares the best two.
    findAnswers: (merchantId, question) =>
      suggestDocuments({ database, ranking }, merchantId, question, { limit: 2 }),
    async raise(merchantId, conversationId, type, context) {
      const contextText = JSON.stringify(context);
      await raise(database, { merchantId, type, conversationId, contextText, at: now() });
      database.signal(CHANGES);
    },
    recordKnown: (merchantId, question, { id: documentId, score }) =>
      database.transaction((tx) => recordKnown(tx, merchantId, { question, documentId, score, at: now() })),
    async say(merchantId, { conversationId, phone }, text) {
      await database.transaction(async (tx) => {
        const at = now();
        const message = { from: 'assistant', text, at, messageId: null } as const;
        await insertMessages(tx, merchantId, conversationId, [message], at);
        await addAssistantMessage(tx, merchantId, { phone, text, at });
      });
      database.signal(CHANGES);
    },
    waitingMessage: async (merchantId) => (await whileWaiting(database, merchantId, now())).waiting_message,
    isTakenOver: async (merchantId, id) =>
      (await findConversation(database, merchantId, id))?.taken_over_at != null,
  });
}
