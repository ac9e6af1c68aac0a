import { accessSync, existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { readChannel, readCountry, readOperatorSettings } from './config/channel.ts';
import { checkDatabaseUrls, checkSecretKeys } from './config/database.ts';
import { readEmbeddings } from './config/embeddings.ts';
import { allowedHosts, readHosts, readOrigins, readPublicUrl, readTrustProxy } from './config/hosts.ts';
import { readMail } from './config/mail.ts';
import { openSecretFiles, withSecretFiles } from './config/secretFiles.ts';
import { findBadLines, type SettingsFile } from './config/settingsFile.ts';
import { readTelemetry, SAMPLERS } from './config/telemetry.ts';
import { type Config, LOG_LEVELS } from './config/types.ts';
import { unknownSettings } from './config/unknown.ts';
import { createReader, type Environment } from './config/values.ts';
import { CHANNEL_NAMES } from './delivery/channels/descriptors.ts';
import { isLoopback } from './http/address.ts';
import { PACKAGED, PROGRAM } from './installation.ts';

export type { Config, RetentionDays } from './config/types.ts';

/** Lists every mistake, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Of an installed Deskbell: its units and whoever runs a command get the same settings. */
const SYSTEM_FILE = '/etc/deskbell/deskbell.env';

/** What `loadEnvFile` has read. */
let settingsFile: SettingsFile | undefined;
/** Known also if the settings are not valid. */
export const loadedFile = (): string | undefined => settingsFile?.file;

/** Settings may also be in a file. The environment takes precedence. */
export function loadEnvFile(): void {
  const hasSystemFile = PACKAGED && mayExist(SYSTEM_FILE);
  settingsFile = undefined;
  if (existsSync('.env')) {
    const fix = 'Make it a text file that this user may read.';
    loadFile('.env', fix, hasSystemFile ? SYSTEM_FILE : undefined);
  } else if (hasSystemFile) {
    loadFile(SYSTEM_FILE, `Run this as the user deskbell: sudo -u deskbell ${ownPath()} …`);
  }
}

/** sudo does not look for programs in every folder. npm links them into `bin` of its prefix. */
function ownPath(): string {
  const [prefix, ...inside] = (process.argv[1] ?? '').split('/lib/node_modules/deskbell/');
  return inside.length === 1 ? `${prefix}/bin/deskbell` : PROGRAM;
}

function loadFile(file: string, fix: string, ignored?: string): void {
  try {
    process.loadEnvFile(file);
    settingsFile = { file: resolve(file), ignored, badLines: findBadLines(file) };
  } catch {
    throw new ConfigError([`The file ${file} cannot be read. ${fix}`]);
  }
}

/** Known before the settings are checked: what is wrong with them must be printed in the right form, too. */
export const isProduction = (env: Environment = process.env): boolean =>
  readProduction(createReader(env, []));

/** Unknown values are refused: a typo must not start a demo with public passwords. */
const readProduction = ({ choice }: ReturnType<typeof createReader>): boolean =>
  choice('NODE_ENV', ['production', 'development', 'test'], 'development') === 'production';

/** Also if this user may not look into its folder: without its settings, a command would use another database. */
function mayExist(file: string): boolean {
  try {
    accessSync(file);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!);
  }
}

export const settingsHelp = (): string =>
  PACKAGED
    ? `Settings come from the environment, and from the file .env in this folder or else ${SYSTEM_FILE}.`
    : 'Settings come from the environment and from the file .env, like those of the server.';

/** The folder from which the program was called: `npm run deskbell` changes to the project's folder. */
export function callerFolder(): string {
  return (PACKAGED ? undefined : process.env.INIT_CWD) ?? process.cwd();
}

/** Only this file reads the environment and names its variables. */
export function readConfig(given: Environment = process.env): Config {
  const problems: string[] = [];
  const env = environmentOf(given);
  const reader = createReader(env, problems);
  const { text, integer, flag, choice, address } = reader;

  const databaseUrl = address('DATABASE_URL', ['postgres:', 'postgresql:']);
  const databaseDirectUrl = address('DATABASE_DIRECT_URL', ['postgres:', 'postgresql:']);
  checkDatabaseUrls(databaseUrl, databaseDirectUrl, problems);
  const production = readProduction(reader);
  const host = text('HOST') ?? '127.0.0.1';
  const isLocal = isLoopback(host);
  const publicUrl = readPublicUrl(text('PUBLIC_URL'), problems);
  const namedHosts = readHosts(text('ALLOWED_HOSTS'), problems);
  const demo = flag('DEMO');
  if (demo) checkDemo({ production, isLocal, host }, problems);
  const dataDir = resolve(text('DATA_DIR') ?? 'data');

  const secretKey = text('SECRET_KEY');
  const secretKeyPrevious = text('SECRET_KEY_PREVIOUS');
  checkSecretKeys({ secretKey, secretKeyPrevious, databaseUrl }, problems);

  const accessTtlSeconds = integer('ACCESS_TOKEN_TTL_SECONDS', 900, 10, 86_400);
  const refreshTtlSeconds = integer('REFRESH_TOKEN_TTL_SECONDS', 30 * 86_400, 60, 366 * 86_400);
  if (refreshTtlSeconds < accessTtlSeconds) {
    problems.push('REFRESH_TOKEN_TTL_SECONDS must not be shorter than ACCESS_TOKEN_TTL_SECONDS.');
  }

  const rateLimitPerMinute = integer('RATE_LIMIT_PER_MINUTE', 6000, 0, 100_000_000);
  const threadPoolSize = integer('UV_THREADPOOL_SIZE', 4, 1, 1024);
  const port = integer('PORT', 8000, 0, 65_535);
  const metricsPort = integer('METRICS_PORT', 0, 1, 65_535) || undefined;
  if (metricsPort === port) problems.push('METRICS_PORT must differ from PORT.');
  const trustProxy = readTrustProxy(text('TRUST_PROXY'), problems);
  const hosts = allowedHosts(publicUrl, namedHosts, isLocal);
  // A proxy may let others in, to a server on loopback too. Then PUBLIC_URL, ALLOWED_HOSTS or TRUST_PROXY is set. A
  // worker, which needs PostgreSQL, may have none of them, although its server has.
  const isOnlyLocal = isLocal && !databaseUrl && trustProxy === false && (hosts ?? []).every(isLoopback);
  const allowPrivate = flag('WEBHOOK_ENDPOINTS_ALLOW_PRIVATE') ?? (!production && isOnlyLocal);
  const config: Config = {
    host,
    isLocal,
    port,
    dataDir,
    databaseUrl,
    databasePoolSize: integer('DATABASE_POOL_SIZE', 10, 1, 1000),
    // Before version 1.21, PgBouncer cannot have them in transaction mode.
    databasePreparedStatements: flag('DATABASE_PREPARED_STATEMENTS') ?? databaseDirectUrl === undefined,
    databaseDirectUrl,
    secretKey,
    secretKeyPrevious,
    secretKeyFile: join(dataDir, 'secret.key'),
    production,
    demo: demo ?? (!databaseUrl && !production && isLocal),
    trustProxy,
    publicUrl,
    allowedHosts: hosts,
    corsOrigins: readOrigins(text('CORS_ORIGINS'), problems),
    tokenIssuer: text('TOKEN_ISSUER') ?? 'deskbell',
    accessTtlSeconds,
    refreshTtlSeconds,
    sessionIdleDays: integer('SESSION_IDLE_DAYS', 14, 1, 366),
    sessionsPerUser: integer('SESSIONS_PER_USER', 20, 1, 10_000),
    requestDeadlineSeconds: integer('REQUEST_DEADLINE_SECONDS', 5, 1, 60),
    overloadDelayMs: integer('OVERLOAD_DELAY_MS', 1000, 0, 60_000),
    rateLimitPerMinute,
    rateLimitPerMinutePerMerchant: integer(
      'RATE_LIMIT_PER_MINUTE_PER_MERCHANT',
      5 * rateLimitPerMinute,
      0,
      1e9,
    ),
    connectionsPerAddress: integer('CONNECTIONS_PER_ADDRESS', 4000, 0, 1_000_000),
    eventStreamsPerUser: integer('EVENT_STREAMS_PER_USER', 20, 0, 1_000_000),
    eventStreamsPerMerchant: integer('EVENT_STREAMS_PER_MERCHANT', 200, 0, 1_000_000),
    waitingRequestsPerUser: integer('WAITING_REQUESTS_PER_USER', 1000, 0, 1_000_000),
    waitingRequestsPerMerchant: integer('WAITING_REQUESTS_PER_MERCHANT', 2000, 0, 1_000_000),
    redisUrl: address('REDIS_URL', ['redis:', 'rediss:']),
    storagePerMerchantMb: integer('STORAGE_PER_MERCHANT_MB', 10_000, 0, 1_000_000_000),
    worker: flag('WORKER') ?? true,
    workerConcurrency: {
      total: integer('WORKER_CONCURRENCY', 16, 1, 1000),
      perChannel: integer('WORKER_CONCURRENCY_PER_ENDPOINT', 4, 1, 1000),
    },
    webhookEndpointsAllowPrivate: allowPrivate,
    pushAllowPrivate: flag('PUSH_ALLOW_PRIVATE') ?? false,
    operatorSettings: readOperatorSettings(reader, allowPrivate),
    channel: readChannel(choice('CHANNEL', CHANNEL_NAMES, 'simulator'), reader, problems),
    channelDailyLimit: integer('CHANNEL_DAILY_LIMIT', 250, 1, 1_000_000_000),
    defaultCountry: readCountry(text('DEFAULT_COUNTRY'), problems),
    embeddings: readEmbeddings(
      {
        url: address('EMBEDDINGS_URL', ['http:', 'https:']),
        model: text('EMBEDDINGS_MODEL'),
        apiKey: text('EMBEDDINGS_API_KEY'),
        timeoutMs: integer('EMBEDDINGS_TIMEOUT_MS', 1000, 50, 4000),
      },
      problems,
    ),
    mail: readMail(
      {
        url: address('SMTP_URL', ['smtp:', 'smtps:']),
        from: text('MAIL_FROM'),
        requireTls: flag('SMTP_REQUIRE_TLS'),
        publicUrl,
      },
      problems,
    ),
    retentionDays: {
      notifications: integer('RETENTION_NOTIFICATIONS_DAYS', 0, 0, 36_600),
      deliveries: integer('RETENTION_DELIVERIES_DAYS', 0, 0, 36_600),
      messages: integer(
        'RETENTION_MESSAGES_DAYS',
        integer('MESSAGE_RETENTION_DAYS', 365, 1, 3660),
        0,
        36_600,
      ),
      events: integer('RETENTION_EVENTS_DAYS', 30, 1, 365),
      audit: integer('RETENTION_AUDIT_DAYS', integer('AUDIT_RETENTION_DAYS', 365, 1, 3660), 0, 36_600),
      sessions: integer('RETENTION_SESSIONS_DAYS', 1, 1, 3660),
    },
    metricsToken: readMetricsToken(text('METRICS_TOKEN'), problems),
    metricsPort,
    telemetry: readTelemetry(
      {
        isDisabled: flag('OTEL_SDK_DISABLED') ?? false,
        endpoint: address('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:']),
        endpoints: {
          traces: address('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['http:', 'https:']),
          metrics: address('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', ['http:', 'https:']),
          logs: address('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', ['http:', 'https:']),
        },
        exporters: {
          traces: choice('OTEL_TRACES_EXPORTER', ['otlp', 'none'], 'otlp'),
          metrics: choice('OTEL_METRICS_EXPORTER', ['otlp', 'none'], 'otlp'),
          logs: choice('OTEL_LOGS_EXPORTER', ['otlp', 'none'], 'otlp'),
        },
        headers: {
          all: text('OTEL_EXPORTER_OTLP_HEADERS'),
          traces: text('OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
          metrics: text('OTEL_EXPORTER_OTLP_METRICS_HEADERS'),
          logs: text('OTEL_EXPORTER_OTLP_LOGS_HEADERS'),
        },
        protocols: {
          all: text('OTEL_EXPORTER_OTLP_PROTOCOL'),
          traces: text('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'),
          metrics: text('OTEL_EXPORTER_OTLP_METRICS_PROTOCOL'),
          logs: text('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL'),
        },
        timeouts: {
          all: text('OTEL_EXPORTER_OTLP_TIMEOUT'),
          traces: text('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'),
          metrics: text('OTEL_EXPORTER_OTLP_METRICS_TIMEOUT'),
          logs: text('OTEL_EXPORTER_OTLP_LOGS_TIMEOUT'),
        },
        serviceName: text('OTEL_SERVICE_NAME'),
        resourceAttributes: text('OTEL_RESOURCE_ATTRIBUTES'),
        sampler: choice('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on'),
        samplerArgument: text('OTEL_TRACES_SAMPLER_ARG'),
        exportEveryMs: integer('OTEL_BSP_SCHEDULE_DELAY', 5000, 1, 600_000),
        metricsEveryMs: integer('OTEL_METRIC_EXPORT_INTERVAL', 60_000, 100, 3_600_000),
      },
      problems,
    ),
    docs: flag('DOCS') ?? true,
    // nginx ignores a server for ten seconds after a refused connection. A rolling restart goes on as soon as a server is
    // ready: if the next one closed its port within these seconds, nginx would have no server.
    drainSeconds: integer('DRAIN_SECONDS', production ? 12 : 0, 0, 600),
    logLevel: choice('LOG_LEVEL', LOG_LEVELS, 'info'),
    logPretty: flag('LOG_PRETTY') ?? process.stdout.isTTY === true,
    // One more than the number of cores, so that no core is idle while a result is passed on. One thread stays free
    // for files and token checks.
    hashesAtOnce: Math.max(1, Math.min(availableParallelism() + 1, threadPoolSize - 1)),
    unknownSettings: unknownSettings(env, reader.names),
    settingsFile: given === process.env ? settingsFile : undefined,
    openSecretFiles: openSecretFiles(given),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** How a command reaches a running Deskbell. */
export interface ApiAccess {
  url: string;
  key: string;
}

export function readApiAccess(given: Environment = process.env): ApiAccess {
  const problems: string[] = [];
  const env = environmentOf(given);
  const { text, address } = createReader(env, problems);
  const url = address('DESKBELL_URL', ['http:', 'https:']) ?? 'http://127.0.0.1:8000';
  const key = text('DESKBELL_KEY') ?? '';
  if (key === '') problems.push(`DESKBELL_KEY must be set. "${PROGRAM} key add" creates a key.`);
  if (problems.length > 0) throw new ConfigError(problems);
  return { url, key };
}

/** With the secrets that are in files. Other mistakes may only follow from a file that cannot be read. */
function environmentOf(given: Environment): Environment {
  const problems: string[] = [];
  const env = withSecretFiles(given, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return env;
}

function checkDemo(
  { production, isLocal, host }: Pick<Config, 'production' | 'isLocal' | 'host'>,
  problems: string[],
): void {
  if (production) {
    problems.push('DEMO must not be true with NODE_ENV=production: its passwords are public.');
  } else if (!isLocal) {
    problems.push(
      `DEMO must not be true with HOST ${host}, which other machines can reach: its passwords are public.`,
    );
  }
}

function readMetricsToken(given: string | undefined, problems: string[]): string | undefined {
  if (given === undefined || /^[\x21-\x7e]{16,256}$/.test(given)) return given;
  problems.push('METRICS_TOKEN must be 16 to 256 printable ASCII characters without spaces.');
  return undefined;
}
