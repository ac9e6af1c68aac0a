import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { postgresAddressProblem } from './database/address.ts';
import { CHANNEL_NAMES, DESCRIPTORS } from './delivery/channels/descriptors.ts';
import { type ChannelSettings, fieldProblems, isFilledIn } from './delivery/channels/fields.ts';
import { type CountryCode, isCountry } from './delivery/phone.ts';
import { hostName, isLoopback } from './http/address.ts';
import { secretKeyProblem } from './secrets.ts';

/** All settings. Only this file reads the environment. */
export interface Config {
  host: string;
  /** Only programs on this machine can connect to `host`. */
  isLocal: boolean;
  port: number;
  dataDir: string;
  /** Absent: the embedded SQLite database under `dataDir`. */
  databaseUrl: string | undefined;
  databasePoolSize: number;
  databasePreparedStatements: boolean;
  /** Absent only with the embedded database, which has its own key in `secretKeyFile`. */
  secretKey: string | undefined;
  secretKeyFile: string;
  production: boolean;
  /** Whether an empty database gets the demo data: its passwords are public, so only for this machine. */
  demo: boolean;
  trustProxy: boolean | number | string;
  corsOrigins: string[] | '*';
  /** The origin under which people reach the dashboard and the API. */
  publicUrl: string | undefined;
  /** The host names that requests may use besides those of this machine. Absent: all. */
  allowedHosts: string[] | undefined;
  tokenIssuer: string;
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
  /** A session that is not used for this long ends. */
  sessionIdleDays: number;
  /** When a user signs in once more, the session that was not used for longest ends. */
  sessionsPerUser: number;
  /** How long a request may take, from its last byte to its answer. */
  requestDeadlineSeconds: number;
  /** Per user, or per address without a token. 0 turns the general limit off. */
  rateLimitPerMinute: number;
  /** For all users of a merchant together. 0 turns it off. */
  rateLimitPerMinutePerMerchant: number;
  /** 0 turns the limit off; so do the next two. */
  connectionsPerAddress: number;
  eventStreamsPerUser: number;
  eventStreamsPerMerchant: number;
  redisUrl: string | undefined;
  /** 0 turns the allowance off. */
  storagePerMerchantMb: number;
  /** Whether this server also sends messages. If not, separate workers do. */
  worker: boolean;
  /** How many messages one process sends at the same time, in total and through one channel. */
  workerConcurrency: { total: number; perChannel: number };
  /** The channel of merchants without their own channel. */
  channel: ChannelConfig;
  /** Distinct customers per day, for merchants without their own limit. */
  channelDailyLimit: number;
  /** The country of phone numbers without a country code, for merchants without their own country. */
  defaultCountry: CountryCode | undefined;
  /** How long audit events are kept. */
  auditRetentionDays: number;
  /** The bearer token that `/metrics` requires. */
  metricsToken: string | undefined;
  /** Serves `/metrics` on this port of `host` and nowhere else. */
  metricsPort: number | undefined;
  /** Whether to serve `/docs` and `/openapi.json`. */
  docs: boolean;
  logLevel: LogLevel;
  logPretty: boolean;
  /** Password hashes computed at the same time. */
  hashesAtOnce: number;
}

interface ChannelConfig {
  name: string;
  settings: ChannelSettings;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** Lists every mistake, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Settings may also be in a file `.env`. The environment takes precedence. */
export function loadEnvFile(): void {
  if (!existsSync('.env')) return;
  try {
    process.loadEnvFile('.env');
  } catch {
    throw new ConfigError(['The file .env cannot be read. Make it a text file that this user may read.']);
  }
}

/** The folder from which the program was called: npm changes to the project's folder. */
export function callerFolder(): string {
  return process.env.INIT_CWD ?? process.cwd();
}

type Environment = Record<string, string | undefined>;

export function readConfig(env: Environment = process.env): Config {
  const problems: string[] = [];
  const text = (key: string): string | undefined => env[key]?.trim() || undefined;

  const integer = (key: string, fallback: number, min: number, max: number): number => {
    const given = text(key);
    if (given === undefined) return fallback;
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= min && value <= max) return value;
    problems.push(`${key} must be a whole number from ${min} to ${max}, not "${given}".`);
    return fallback;
  };

  const flag = (key: string): boolean | undefined => {
    const given = text(key)?.toLowerCase();
    if (given === undefined) return undefined;
    if (['true', '1', 'yes', 'on'].includes(given)) return true;
    if (['false', '0', 'no', 'off'].includes(given)) return false;
    problems.push(`${key} must be true or false, not "${given}".`);
    return undefined;
  };

  const choice = <T extends string>(key: string, options: readonly T[], fallback: T): T => {
    const given = text(key)?.toLowerCase();
    if (given === undefined) return fallback;
    const found = options.find((option) => option === given);
    if (found) return found;
    problems.push(`${key} must be one of ${options.join(', ')}, not "${given}".`);
    return fallback;
  };

  // An address may contain a password: the message names the key and never repeats the value.
  const address = (key: string, schemes: readonly string[]): string | undefined => {
    const given = text(key);
    if (given === undefined) return undefined;
    // PostgreSQL allows several hosts in one address, which URL cannot parse: read the first.
    const parsed = URL.parse(given.replace(/(@|\/\/)([^/@,?]+),[^/@?]*/, '$1$2'));
    if (!parsed || !schemes.includes(parsed.protocol)) {
      problems.push(
        `${key} must be an address that begins with ${schemes.map((s) => `${s}//`).join(' or ')}.`,
      );
      return undefined;
    }
    return given;
  };

  const databaseUrl = address('DATABASE_URL', ['postgres:', 'postgresql:']);
  const databaseProblem = databaseUrl && postgresAddressProblem(databaseUrl);
  if (databaseProblem) problems.push(`DATABASE_URL ${databaseProblem}`);
  // Unknown values are refused: a typo must not start a demo with public passwords.
  const production =
    choice('NODE_ENV', ['production', 'development', 'test'], 'development') === 'production';
  const host = text('HOST') ?? '127.0.0.1';
  const isLocal = isLoopback(host);
  const publicUrl = readPublicUrl(text('PUBLIC_URL'), problems);
  const namedHosts = readHosts(text('ALLOWED_HOSTS'), problems);
  const demo = flag('DEMO');
  if (demo && production) {
    problems.push('DEMO must not be true with NODE_ENV=production: its passwords are public.');
  } else if (demo && !isLocal) {
    problems.push(
      `DEMO must not be true with HOST ${host}, which other machines can reach: its passwords are public.`,
    );
  }
  const dataDir = resolve(text('DATA_DIR') ?? 'data');

  const secretKey = text('SECRET_KEY');
  if (secretKey !== undefined) {
    const problem = secretKeyProblem(secretKey);
    if (problem) problems.push(`SECRET_KEY ${problem} Run "npm run deskbell -- secret" to create one.`);
  } else if (databaseUrl) {
    problems.push(
      'SECRET_KEY must be set with DATABASE_URL. Run "npm run deskbell -- secret" to create one.',
    );
  }

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
  const config: Config = {
    host,
    isLocal,
    port,
    dataDir,
    databaseUrl,
    databasePoolSize: integer('DATABASE_POOL_SIZE', 10, 1, 1000),
    databasePreparedStatements: flag('DATABASE_PREPARED_STATEMENTS') ?? true,
    secretKey,
    secretKeyFile: join(dataDir, 'secret.key'),
    production,
    demo: demo ?? (!databaseUrl && !production && isLocal),
    trustProxy: readTrustProxy(text('TRUST_PROXY'), problems),
    publicUrl,
    allowedHosts: allowedHosts(publicUrl, namedHosts, isLocal),
    corsOrigins: readOrigins(text('CORS_ORIGINS'), problems),
    tokenIssuer: text('TOKEN_ISSUER') ?? 'deskbell',
    accessTtlSeconds,
    refreshTtlSeconds,
    sessionIdleDays: integer('SESSION_IDLE_DAYS', 14, 1, 366),
    sessionsPerUser: integer('SESSIONS_PER_USER', 20, 1, 10_000),
    requestDeadlineSeconds: integer('REQUEST_DEADLINE_SECONDS', 5, 1, 60),
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
    redisUrl: address('REDIS_URL', ['redis:', 'rediss:']),
    storagePerMerchantMb: integer('STORAGE_PER_MERCHANT_MB', 10_000, 0, 1_000_000_000),
    worker: flag('WORKER') ?? true,
    workerConcurrency: {
      total: integer('WORKER_CONCURRENCY', 16, 1, 1000),
      perChannel: integer('WORKER_CONCURRENCY_PER_ENDPOINT', 4, 1, 1000),
    },
    channel: readChannel(text, choice, flag, problems),
    channelDailyLimit: integer('CHANNEL_DAILY_LIMIT', 250, 1, 1_000_000_000),
    defaultCountry: readCountry(text('DEFAULT_COUNTRY'), problems),
    auditRetentionDays: integer('AUDIT_RETENTION_DAYS', 365, 1, 3660),
    metricsToken: readMetricsToken(text('METRICS_TOKEN'), problems),
    metricsPort,
    docs: flag('DOCS') ?? true,
    logLevel: choice('LOG_LEVEL', LOG_LEVELS, 'info'),
    logPretty: flag('LOG_PRETTY') ?? process.stdout.isTTY === true,
    // One more than the number of cores, so that no core is idle while a result is passed on. One thread stays free
    // for files and token checks.
    hashesAtOnce: Math.max(1, Math.min(availableParallelism() + 1, threadPoolSize - 1)),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Valid settings that are probably a mistake. The server logs them at its start, and the doctor shows them. */
export function riskySettings(config: Config): { message: string; fix: string }[] {
  const { trustProxy, allowedHosts, host } = config;
  const risks: { message: string; fix: string }[] = [];
  if (trustProxy === true) {
    risks.push({
      message: 'TRUST_PROXY is true: clients can pretend to have any address and avoid the limits.',
      fix: 'Set it to the number of proxies, such as 1, or to a list of their addresses.',
    });
  }
  if (!allowedHosts) {
    risks.push({
      message: `HOST ${host} is open to other machines, and requests for every host name are answered.`,
      fix: 'Set PUBLIC_URL to the address that people use, such as https://desk.shop.example.',
    });
  }
  return risks;
}

/** Reads the settings that the channels' descriptors list. */
function readChannel(
  text: (key: string) => string | undefined,
  choice: <T extends string>(key: string, options: readonly T[], fallback: T) => T,
  flag: (key: string) => boolean | undefined,
  problems: string[],
): ChannelConfig {
  const name = choice('CHANNEL', CHANNEL_NAMES, 'simulator');
  let chosen: ChannelSettings = {};
  for (const descriptor of DESCRIPTORS) {
    const settings = Object.fromEntries(
      descriptor.fields.map((field) => [
        field.key,
        field.kind === 'flag' ? (flag(field.variable) ?? false) : (text(field.variable) ?? field.default),
      ]),
    );
    const isChosen = descriptor.name === name;
    if (isChosen) chosen = settings;
    // A channel that is not chosen is checked only if it is filled in: merchants' own channels do not need it.
    if (isChosen || isFilledIn(descriptor.fields, settings)) {
      const found = fieldProblems(descriptor.fields, settings);
      problems.push(...found.map(({ field, text: problem }) => `${field.variable} ${problem}`));
    }
  }
  return { name, settings: chosen };
}

function readCountry(given: string | undefined, problems: string[]): CountryCode | undefined {
  const country = given?.toUpperCase();
  if (country === undefined || isCountry(country)) return country;
  problems.push(
    `DEFAULT_COUNTRY must be the two letters of a country, such as ES for Spain, not "${given}".`,
  );
  return undefined;
}

/** `true`, a number of proxies, or their addresses: the forms that Fastify accepts. */
function readTrustProxy(given: string | undefined, problems: string[]): boolean | number | string {
  if (given === undefined || given === 'false') return false;
  if (given === 'true') return true;
  if (/^\d{1,2}$/.test(given)) return Number(given);
  const parts = given.split(',').map((part) => part.trim());
  if (parts.every((part) => /^([\da-fA-F.:]+(\/\d{1,3})?|loopback|linklocal|uniquelocal)$/.test(part))) {
    return parts.join(',');
  }
  problems.push('TRUST_PROXY must be a number of proxies, a list of their addresses, true or false.');
  return false;
}

function readMetricsToken(given: string | undefined, problems: string[]): string | undefined {
  if (given === undefined || /^[\x21-\x7e]{16,256}$/.test(given)) return given;
  problems.push('METRICS_TOKEN must be 16 to 256 printable ASCII characters without spaces.');
  return undefined;
}

function readPublicUrl(given: string | undefined, problems: string[]): string | undefined {
  if (given === undefined) return undefined;
  const url = URL.parse(given);
  if (url && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  problems.push('PUBLIC_URL must be an address without a path, such as https://desk.shop.example.');
  return undefined;
}

function readHosts(given: string | undefined, problems: string[]): string[] {
  if (given === undefined) return [];
  return given.split(',').map((part) => {
    const name = part.trim();
    const url = URL.parse(`http://${name}`);
    if (url?.port === '' && url.href === `http://${url.host}/` && name !== '*') return hostName(url.host);
    problems.push(
      `ALLOWED_HOSTS must list host names without a port, such as desk.shop.example, not "${name}".`,
    );
    return '';
  });
}

/** A server on loopback answers for this machine's own names and the given ones. */
function allowedHosts(
  publicUrl: string | undefined,
  named: string[],
  isLocal: boolean,
): string[] | undefined {
  if (publicUrl === undefined && named.length === 0 && !isLocal) return undefined;
  return publicUrl === undefined ? named : [hostName(new URL(publicUrl).host), ...named];
}

function readOrigins(given: string | undefined, problems: string[]): string[] | '*' {
  if (given === undefined) return [];
  if (given === '*') return '*';
  return given.split(',').map((part) => {
    const origin = URL.parse(part.trim());
    if (origin && ['http:', 'https:'].includes(origin.protocol) && origin.pathname === '/')
      return origin.origin;
    problems.push(`CORS_ORIGINS must list origins such as https://shop.example, not "${part.trim()}".`);
    return '';
  });
}
