import type { CountryCode } from '../delivery/phone.ts';
import type { ChannelConfig, readOperatorSettings } from './channel.ts';
import type { EmbeddingsConfig } from './embeddings.ts';
import type { MailConfig } from './mail.ts';
import type { SettingsFile } from './settingsFile.ts';
import type { TelemetryConfig } from './telemetry.ts';
import type { UnknownSetting } from './unknown.ts';

/** How many days each kind of data is kept. 0: forever. */
export interface RetentionDays {
  /** Answered and resolved ones. */
  notifications: number;
  /** Finished messages to customers, with their history. */
  deliveries: number;
  /** What customers and assistants wrote in conversations. */
  messages: number;
  /** The event log, and the events for webhook endpoints. */
  events: number;
  audit: number;
  /** Sessions that have ended. */
  sessions: number;
}

/** All settings. */
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
  /** The address of PostgreSQL itself, if `databaseUrl` is that of PgBouncer in transaction mode. */
  databaseDirectUrl: string | undefined;
  /** Absent only with the embedded database, which has its own key in `secretKeyFile`. */
  secretKey: string | undefined;
  secretKeyFile: string;
  /** The key before, while what it encrypted is encrypted again. */
  secretKeyPrevious: string | undefined;
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
  overloadDelayMs: number;
  /** Per user, or per address without a token. 0 turns the general limit off. */
  rateLimitPerMinute: number;
  /** For all users of a merchant together. 0 turns it off. */
  rateLimitPerMinutePerMerchant: number;
  /** 0 turns the limit off; so do the next four. */
  connectionsPerAddress: number;
  eventStreamsPerUser: number;
  eventStreamsPerMerchant: number;
  waitingRequestsPerUser: number;
  waitingRequestsPerMerchant: number;
  redisUrl: string | undefined;
  /** 0 turns the allowance off. */
  storagePerMerchantMb: number;
  /** Whether this server also sends messages. If not, separate workers do. */
  worker: boolean;
  /** How many messages one process sends at the same time, in total and through one channel. */
  workerConcurrency: { total: number; perChannel: number };
  /** Whether merchants' own webhook channels and webhook endpoints may be in a private network. */
  webhookEndpointsAllowPrivate: boolean;
  /** Whether alerts may go to push services in a private network. */
  pushAllowPrivate: boolean;
  /** The channel of merchants without their own channel. */
  channel: ChannelConfig;
  /** In merchants' own channels: what only the operator sets, by channel. */
  operatorSettings: ReturnType<typeof readOperatorSettings>;
  /** Distinct customers per day, for merchants without their own limit. */
  channelDailyLimit: number;
  /** The country of phone numbers without a country code, for merchants without their own country. */
  defaultCountry: CountryCode | undefined;
  /** Absent: texts are compared by their words only. */
  embeddings: EmbeddingsConfig | undefined;
  /** Absent: this server sends no e-mail. */
  mail: MailConfig | undefined;
  /** How many days each kind of data is kept. 0: forever. */
  retentionDays: RetentionDays;
  /** The bearer token that `/metrics` requires. */
  metricsToken: string | undefined;
  /** Serves `/metrics` on this port of `host` and nowhere else. */
  metricsPort: number | undefined;
  /** OpenTelemetry. Absent: off. */
  telemetry: TelemetryConfig | undefined;
  /** Whether to serve `/docs` and `/openapi.json`. */
  docs: boolean;
  /** How long a server that gets SIGTERM goes on while `/readyz` fails. */
  drainSeconds: number;
  logLevel: LogLevel;
  logPretty: boolean;
  /** Password hashes computed at the same time. */
  hashesAtOnce: number;
  /** Variables that look like settings but are none. */
  unknownSettings: readonly UnknownSetting[];
  /** Absent: all settings are in the environment. */
  settingsFile: SettingsFile | undefined;
  /** Settings like SECRET_KEY_FILE whose files other users of this machine can read. */
  openSecretFiles: readonly string[];
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];
