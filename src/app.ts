import { randomUUID } from 'node:crypto';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { createNoteLooked } from './alerts/positions.ts';
import { alertRoutes } from './alerts/routes.ts';
import { createVapidKeys } from './alerts/vapid.ts';
import type { Assistant } from './assistant/assistant.ts';
import { auditRoutes } from './audit/routes.ts';
import type { Factors } from './auth/factors/factors.ts';
import { factorRoutes } from './auth/factors/routes.ts';
import { identifyCallers, merchantOf, requireOwner } from './auth/guard.ts';
import type { Keyring } from './auth/keys.ts';
import { machineKeyRoutes } from './auth/machineKeys/routes.ts';
import type { MachineKeys } from './auth/machineKeys/verify.ts';
import { createCheckPolicy } from './auth/passwords/checkPolicy.ts';
import type { Passwords } from './auth/passwords/passwords.ts';
import { resetRoutes } from './auth/passwords/resetRoutes.ts';
import { passwordRoutes } from './auth/passwords/routes.ts';
import { createRecheck } from './auth/recheck.ts';
import { authRoutes } from './auth/routes.ts';
import type { Revocations } from './auth/sessions/revocations.ts';
import { sessionRoutes } from './auth/sessions/routes.ts';
import { createSessions } from './auth/sessions/sessions.ts';
import { createSignIn } from './auth/signIn.ts';
import { acceptRoutes } from './auth/team/acceptRoutes.ts';
import { memberRoutes } from './auth/team/routes.ts';
import type { Tokens } from './auth/tokens.ts';
import type { Config } from './config.ts';
import type { DemoUser } from './contract/auth.ts';
import { messageRoutes } from './conversations/messageRoutes.ts';
import { customerMessages } from './conversations/received.ts';
import { conversationRoutes } from './conversations/routes.ts';
import { savedReplyRoutes } from './conversations/savedReplies/routes.ts';
import { readConversationVersions } from './conversations/storage.ts';
import { findCustomerPhone } from './conversations/store.ts';
import { talkRoutes } from './conversations/talkRoutes.ts';
import { timelineRoutes } from './conversations/timeline/routes.ts';
import type { Database } from './database/database.ts';
import { DESCRIPTORS } from './delivery/channels/descriptors.ts';
import type { Channels } from './delivery/channels/merchantChannels.ts';
import { channelRoutes } from './delivery/channels/routes.ts';
import { channelSetupRoutes } from './delivery/channels/setup/routes.ts';
import { createChannelStates } from './delivery/channels/state.ts';
import { createSendingTo, createWindows } from './delivery/channels/windows.ts';
import { readDeliveryVersions } from './delivery/queue/deliveries.ts';
import type { Outbox } from './delivery/queue/enqueue.ts';
import { deliveryRoutes } from './delivery/routes.ts';
import { erasureRoutes } from './erasure/routes.ts';
import { exportRoutes } from './export/routes.ts';
import { EXPORT_SECTIONS } from './export/sections.ts';
import { readFigures } from './figures.ts';
import { compressResponses } from './http/compression.ts';
import { serveDashboard } from './http/dashboard.ts';
import { serveDocs } from './http/docs.ts';
import type { Drain } from './http/drain.ts';
import {
  answerBrokenHttp,
  handleErrors,
  handleUnknownPaths,
  refuseOtherMethods,
  sendError,
} from './http/errors.ts';
import { addHeaders, allowOrigins, requireTlsFromNowOn } from './http/headers.ts';
import { checkHosts } from './http/hosts.ts';
import { acceptJson, BODY_MAX_BYTES } from './http/json.ts';
import { limitConnections } from './http/limits/connections.ts';
import { limitDuration } from './http/limits/duration.ts';
import { refuseWhenOverloaded } from './http/limits/overload.ts';
import { limitRequests } from './http/limits/rates.ts';
import { connectRedis } from './http/limits/redis.ts';
import { disconnectStalledReaders } from './http/limits/stalls.ts';
import { drainUnreadBodies } from './http/limits/unreadBodies.ts';
import { metricsRoutes } from './http/metrics.ts';
import type { App } from './http/openapi.ts';
import { operationsRoutes } from './http/operations.ts';
import { logRequests } from './http/requestLog.ts';
import { compileSchemasWhenUsed } from './http/schemas.ts';
import { traceRequests } from './http/traces.ts';
import { createConfidence } from './knowledge/confidence/confidence.ts';
import { confidenceRoutes } from './knowledge/confidence/routes.ts';
import { fileRoutes } from './knowledge/files/routes.ts';
import type { Ranking } from './knowledge/ranking/rank.ts';
import { knowledgeRoutes } from './knowledge/routes.ts';
import { upkeepRoutes } from './knowledge/upkeep/routes.ts';
import { readKnowledgeVersions } from './knowledge/versions.ts';
import { writeRoutes } from './knowledge/writeRoutes.ts';
import { createHub } from './live/hub.ts';
import { createWaitLimits } from './live/limits.ts';
import { liveRoutes } from './live/routes.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { merchantRoutes } from './merchants/routes.ts';
import type { Storage } from './merchants/storage.ts';
import { countryOf, findMerchant } from './merchants/store.ts';
import type { Metrics } from './metrics.ts';
import { answerRoutes } from './notifications/answers/routes.ts';
import { askRoutes } from './notifications/asks/routes.ts';
import { createAskWaiters } from './notifications/asks/waiters.ts';
import { createRecentQuestions } from './notifications/groups/recent.ts';
import { groupRoutes } from './notifications/groups/routes.ts';
import { suggestionRoutes } from './notifications/groups/suggestionRoutes.ts';
import { createWriteOnce } from './notifications/idempotency.ts';
import { attentionRoutes } from './notifications/inbox/attentionRoutes.ts';
import { inboxRoutes } from './notifications/inbox/routes.ts';
import { readInboxVersions } from './notifications/inboxes.ts';
import { overviewRoutes } from './notifications/overview.ts';
import { gapRoutes } from './notifications/progress/gaps.ts';
import { questions } from './notifications/questions.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { teamRoutes } from './notifications/team/routes.ts';
import type { Vault } from './secrets.ts';
import type { Tracer } from './tracing.ts';
import { webhookEventRoutes } from './webhooks/eventRoutes.ts';
import { webhookRoutes } from './webhooks/routes.ts';

export interface Parts {
  config: Config;
  database: Database;
  keyring: Keyring;
  revocations: Revocations;
  tokens: Tokens;
  machineKeys: MachineKeys;
  passwords: Passwords;
  vault: Vault;
  factors: Factors;
  outbox: Outbox;
  channels: Channels;
  storage: Storage;
  ranking: Ranking;
  metrics: Metrics;
  /** Absent without tracing. */
  tracer: Tracer | undefined;
  drain: Drain;
  log: Logger;
  now: () => Date;
  /** Answers messages from the simulator's test phones. */
  assistant: Assistant;
  /** The demo users that the sign-in page offers, while they exist. */
  demoUsers: () => Promise<readonly DemoUser[]>;
}

/** A client that sends its request slower than this is disconnected. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 12_000;
/** `beforeRoutes` runs before the routes are registered. */
export async function buildApp(
  parts: Parts,
  beforeRoutes?: (app: FastifyInstance) => Promise<void>,
): Promise<FastifyInstance> {
  const { config, log, metrics } = parts;
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // At most two lines are logged for a request, and both contain its id.
    childLoggerFactory: (logger) => logger,
    trustProxy: typeof config.trustProxy === 'number' ? nearestProxies(config.trustProxy) : config.trustProxy,
    bodyLimit: BODY_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: 72_000,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: 1000 },
    // Requests on open connections are still served while the server closes.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The same limit as for headers: the routes check their ids themselves.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    rewriteUrl: ({ url = '/' }) => decodableUrl(url),
    genReqId: (request) => requestId(request.headers['x-request-id']),
    clientErrorHandler: answerBrokenHttp,
    frameworkErrors: sendError,
  });

  const routes = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    routes.set(url, methods);
  });

  await compileSchemasWhenUsed(app);
  handleErrors(app);
  limitDuration(app, config.requestDeadlineSeconds);
  if (parts.tracer) traceRequests(app, parts.tracer);
  drainUnreadBodies(app);
  acceptJson(app);
  addHeaders(app);
  logRequests(app, metrics, log);
  if (config.trustProxy !== false) requireTlsFromNowOn(app);
  if (config.allowedHosts) checkHosts(app, config.allowedHosts);
  refuseWhenOverloaded(app, config.overloadDelayMs);
  limitConnections(app, { perAddress: config.connectionsPerAddress, log });
  disconnectStalledReaders(app);
  if (config.corsOrigins.length > 0) await allowOrigins(app, config.corsOrigins);
  await compressResponses(app);
  identifyCallers(app, parts.tokens, parts.machineKeys);
  const { redisUrl: url, tokenIssuer } = config;
  const runScript = url ? await connectRedis(app, { url, keyPrefix: `${tokenIssuer}:`, log }) : undefined;
  const { rateLimitPerMinute: perMinute, rateLimitPerMinutePerMerchant: perMinutePerMerchant } = config;
  limitRequests(app, { perMinute, perMinutePerMerchant, runScript });
  await beforeRoutes?.(app);

  /** Each feature adds its routes below its own prefix, with its own checks of who may call them. */
  const add = async <P>(prefix: string, routesOf: (app: App, parts: P) => Promise<void>, own: P) =>
    void (await app.register((scope: App) => routesOf(scope, own), { prefix }));
  const { refreshTtlSeconds, production, publicUrl } = config;
  const signIn = createSignIn({ ...config, ...parts });
  const sessions = createSessions({ ...config, ...parts });
  await add('/api/v1/auth', authRoutes, { ...parts, signIn, sessions });
  const shopOf = (id: number) => findMerchant(parts.database, id);
  const merchantNameOf = async (id: number) => (await shopOf(id))?.name;
  const checkPolicy = createCheckPolicy();
  await add('/api/v1/auth', passwordRoutes, { ...parts, checkPolicy, merchantNameOf });
  const teamParts = { ...parts, ...config, checkPolicy, shopOf };
  await add('/api/v1/auth', resetRoutes, teamParts);
  await add('/api/v1', memberRoutes, teamParts);
  await add('/api/v1/invites', acceptRoutes, teamParts);
  await add('/api/v1/auth', factorRoutes, { ...parts, publicUrl });
  await add('/session', sessionRoutes, {
    ...parts,
    signIn,
    sessions,
    refreshTtlSeconds,
    production,
    publicUrl,
  });
  await add('/api/v1/keys', machineKeyRoutes, parts);
  await add('/api/v1', merchantRoutes, parts);
  await add('/api/v1', exportRoutes, { ...parts, sections: EXPORT_SECTIONS });
  const writeOnce = createWriteOnce(parts);
  const noteLooked = createNoteLooked(parts.database);
  await add('/api/v1/notification', notificationRoutes, { ...parts, writeOnce });
  for (const routesOf of [groupRoutes, answerRoutes, teamRoutes])
    await add('/api/v1/notification', routesOf, { ...parts, writeOnce, noteLooked });
  const recentQuestions = createRecentQuestions(parts.database);
  await add('/api/v1', overviewRoutes, { ...parts, recentQuestions });
  const windowsOf = createWindows(parts);
  const channelStateOf = createChannelStates(parts);
  await add('/api/v1', inboxRoutes, { ...parts, ...config, windowsOf, channelStateOf });
  await add('/api/v1', attentionRoutes, { ...parts, ...config, countryOf });
  const sendingTo = createSendingTo(parts);
  const conversationParts = { ...parts, ...config, windowsOf, sendingTo, questions, writeOnce };
  for (const routesOf of [conversationRoutes, messageRoutes, timelineRoutes, talkRoutes])
    await add('/api/v1/conversation', routesOf, conversationParts);
  await add('/api/v1/conversation', erasureRoutes, parts);
  await add('/api/v1/saved-replies', savedReplyRoutes, parts);
  await add('/api/v1/notification', suggestionRoutes, parts);
  const confidence = createConfidence(parts.database);
  for (const routesOf of [
    ...[knowledgeRoutes, writeRoutes, confidenceRoutes, fileRoutes, upkeepRoutes],
    gapRoutes,
  ]) {
    await add('/api/v1/knowledge', routesOf, { ...parts, confidence, recentQuestions });
  }
  await add('/api/v1', deliveryRoutes, { ...parts, ...config, countryOf });
  for (const routesOf of [webhookRoutes, webhookEventRoutes])
    await add('/api/v1/webhooks', routesOf, { ...parts, ...config });
  const vapidKeys = createVapidKeys(parts.database, parts.vault, parts.now);
  const alertParts = {
    ...parts,
    ...config,
    vapidKeys,
    noteLooked,
    mailAvailable: config.mail !== undefined && publicUrl !== undefined,
  };
  await add('/api/v1/alerts', alertRoutes, alertParts);
  const { channelDailyLimit } = config;
  await add('/api/v1', channelRoutes, { ...parts, channelDailyLimit });
  await add('/api/v1', channelSetupRoutes, { ...parts, ...config });
  const inboundParts = {
    ...parts,
    customerPhoneOf: findCustomerPhone,
    customerMessages,
    onInbound: () => parts.outbox.announce(),
    onCustomerMessage: parts.assistant,
  };
  for (const { inbound } of DESCRIPTORS) {
    if (!inbound) continue;
    const routesOf = await inbound.routes();
    await add(inbound.prefix, routesOf, inboundParts);
  }
  const readers = [readInboxVersions, readDeliveryVersions, readKnowledgeVersions, readConversationVersions];
  const hub = createHub({ ...parts, readers });
  app.addHook('onListen', async () => hub.start());
  // Before the server waits for open connections: streams would stay open.
  app.addHook('preClose', async () => hub.close());
  const waiters = createAskWaiters({ ...parts, hub });
  const waitLimits = createWaitLimits({ ...config, onChange: metrics.waits });
  await add('/api/v1/ask', askRoutes, { ...parts, ...config, confidence, waiters, waitLimits, writeOnce });
  const recheck = createRecheck({ ...config, ...parts });
  const limits = { ...config, runScript, onChange: metrics.streams };
  await add('/api/v1', liveRoutes, { ...parts, hub, recheck, limits, waitLimits });
  const { database, now } = parts;
  await add('/api/v1', auditRoutes, { database, merchantOf, requireOwner });
  await app.register(mcpRoutes, { corsOrigins: config.corsOrigins, publicUrl });
  operationsRoutes(app, parts);
  metricsRoutes(app, { ...parts, ...config, readFigures: () => readFigures(database, config, now()) });
  if (config.docs) serveDocs(app);
  handleUnknownPaths(app, await serveDashboard(app, config));
  refuseOtherMethods(app, routes);
  return app;
}

/** Trusts this many proxies, counted from this server. */
const nearestProxies = (count: number) => (_address: string, hop: number) => hop < count;

/** In a path that cannot be decoded every `%` counts as a character, so that the reply is a normal 404. */
function decodableUrl(url: string): string {
  if (!url.includes('%')) return url;
  const [path = ''] = url.split('?', 1);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length);
  }
}

function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
