import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, readConfig } from '../../src/config.ts';
import type { Database, Engine } from '../../src/database/database.ts';
import { createLogger } from '../../src/log.ts';
import { openServer } from '../../src/server.ts';
import { run, settingsOf } from './command.ts';
import { createDemoDatabase, createTestDatabase, engines, type TestDatabase } from './databases.ts';
import { recordCall } from './recordCall.ts';

/** The real server on a real database, called over HTTP. Only the clock is a test clock. */
export interface Deskbell {
  url: string;
  engine: Engine;
  config: Config;
  database: Database;
  clock: Clock;
  /** Every line that the server logged. */
  logged: string[];
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** Resolves when no message, no webhook event and no mail is due, and none is being sent. */
  allSent(): Promise<void>;
  /** Signs in and returns the access token. */
  signIn(email?: string, password?: string): Promise<string>;
  close(): Promise<void>;
}

export interface CallOptions {
  token?: string | undefined;
  /** Sent as JSON. A string is sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  /** False: the response does not have to match the API document. The test says why. */
  documented?: false;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests check responses of any shape
  json: any;
}

export interface Clock {
  now(): Date;
  /** Waits until nothing is being sent: a message whose lease ends while it is sent is sent twice. */
  advance(seconds: number): Promise<void>;
  /** Moves at once, also while messages are being sent. */
  jump(seconds: number): void;
  /** While the clock is stopped nothing becomes due, no matter how slow the machine is. */
  stop(): void;
  go(): void;
}

export function createClock(allSent: () => Promise<void>): Clock {
  let offsetMs = 0;
  let stoppedAt: number | undefined;
  const jump = (seconds: number) => {
    offsetMs += seconds * 1000;
  };
  return {
    now: () => new Date((stoppedAt ?? Date.now()) + offsetMs),
    async advance(seconds) {
      await allSent();
      jump(seconds);
    },
    jump,
    stop: () => {
      stoppedAt ??= Date.now();
    },
    go: () => {
      stoppedAt = undefined;
    },
  };
}

export const AURORA = { email: 'owner@aurora.example', password: 'aurora-demo' };
export const BOREALIS = { email: 'owner@borealis.example', password: 'borealis-demo' };
export const OPERATOR = { email: 'operator@deskbell.example', password: 'operator-demo' };

/** The tokens of both owners, set before the first test. */
export function useOwners(deskbell: Deskbell): { aurora: string; borealis: string } {
  const tokens = { aurora: '', borealis: '' };
  before(async () => {
    tokens.aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    tokens.borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });
  return tokens;
}

export const redisUrl = process.env.TEST_REDIS_URL;

/** The jobs after which everything is sent. */
export const SENDING = ['messages', 'statuses', 'attention', 'webhooks', 'alerts', 'alert mails', 'mails'];

/** Declares the same tests for each engine. */
export function onEachEngine(title: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${title} (${engine})`, () => tests(engine));
}

/** A test that fills the database blocks the server in its own process, which then refuses requests for a moment. */
const BUSY_MAX_MS = 30_000;

/** A server for a whole suite: it starts before the first test and closes after the last. */
export function useDeskbell(engine: Engine, settings: Record<string, string> = {}): Deskbell {
  const deskbell = {} as Deskbell;
  before(async () => {
    Object.assign(deskbell, await startDeskbell(engine, settings));
  });
  reportFailures(deskbell);
  after(() => deskbell.close?.());
  return deskbell;
}

/** The last lines of the log that a failed test shows. */
const LINES_SHOWN = 20;

/** A test that fails shows what the server logged meanwhile, with the ids of the requests, and keeps its database. */
export function reportFailures(deskbell: Deskbell): void {
  let before = 0;
  beforeEach(() => {
    before = deskbell.logged?.length ?? 0;
  });
  afterEach(async (context) => {
    if (!('passed' in context) || context.passed || deskbell.logged === undefined) return;
    const lines = deskbell.logged.slice(before).slice(-LINES_SHOWN);
    const file = join(mkdtempSync('/tmp/deskbell-failed-'), 'backup.db');
    const { code } = await run(['backup', file], { env: settingsOf(deskbell) });
    console.error(`\n✖ ${context.name}\nThe server logged:\n${lines.join('') || 'nothing'}`);
    if (code === 0) console.error(`Its database, for SQLite: ${file}`);
  });
}

/**
 * Starts a server on its own database, or on a shared one that the caller removes. Several servers can share a
 * PostgreSQL database. The caller must close the server.
 */
export async function startDeskbell(
  engine: Engine,
  settings: Record<string, string> = {},
  shared?: TestDatabase,
  options: Parameters<typeof openServer>[3] = {},
): Promise<Deskbell> {
  const create = () =>
    settings.DEMO === undefined ? createDemoDatabase(engine, 'weak') : createTestDatabase(engine);
  const testDatabase = shared ?? (await create());
  const config = readConfig({
    PORT: '0',
    LOG_LEVEL: 'info',
    RATE_LIMIT_PER_MINUTE: '0',
    // Many tests share the machine: its speed must not decide.
    REQUEST_DEADLINE_SECONDS: '30',
    OVERLOAD_DELAY_MS: '0',
    // A suite signs the same users in again and again.
    SESSIONS_PER_USER: '10000',
    ...testDatabase.env,
    ...settings,
  });
  const logged: string[] = [];
  const log = createLogger({ ...config, logPretty: false }, { write: (line) => logged.push(line) });

  const allSent = async () => {
    await server.background.idle(SENDING);
  };
  const clock = createClock(allSent);
  const server = await openServer(config, log, clock.now, options);
  const url = await server.app.listen({ host: '127.0.0.1', port: config.port });

  let closed = false;
  const deskbell: Deskbell = {
    url,
    engine,
    config,
    database: server.database,
    clock,
    logged,
    call: (method, path, options) => call(url, method, path, options),
    allSent,
    async signIn(email = AURORA.email, password = AURORA.password) {
      const deadline = Date.now() + BUSY_MAX_MS;
      for (;;) {
        const reply = await call(url, 'POST', '/api/v1/auth/login', { body: { email, password } });
        if (reply.status === 200) return reply.json.access_token;
        if (reply.status !== 503 || Date.now() > deadline) throw new Error(`sign-in failed: ${reply.text}`);
        await sleep(50);
      }
    },
    async close() {
      if (closed) return;
      closed = true;
      await server.close();
      if (!shared) await testDatabase.remove();
    },
  };
  return deskbell;
}

/** A second server on the PostgreSQL database of the first. Close it before the first. */
export function startSecondServer(
  { config }: Deskbell,
  settings: Record<string, string> = {},
): Promise<Deskbell> {
  const env = {
    DATA_DIR: config.dataDir,
    DATABASE_URL: config.databaseUrl!,
    ...(config.databaseDirectUrl ? { DATABASE_DIRECT_URL: config.databaseDirectUrl } : {}),
    SECRET_KEY: config.secretKey!,
    WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: String(config.webhookEndpointsAllowPrivate),
  };
  return startDeskbell('postgres', settings, { env, async remove() {} });
}

/** The address of PostgreSQL itself, for a test's own sessions. */
export const directUrl = ({ databaseDirectUrl, databaseUrl }: Config): string | undefined =>
  databaseDirectUrl ?? databaseUrl;

export const NOTIFICATIONS = '/api/v1/notification';
/** Aurora's conversations are 1 to 3, Borealis' 4 and 5. */
export const QUESTION = {
  notification_type: 'user_question_request',
  conversation_id: 1,
  context: { question: 'Do you have decaf beans?' },
};
export const SUPPORT = {
  notification_type: 'user_support_request',
  context: { support_request_reason: 'The parcel arrived damaged.' },
};

/** Raises a notification and returns its URL. */
export async function raise(deskbell: Deskbell, token: string, body: unknown = QUESTION): Promise<string> {
  const reply = await deskbell.call('POST', `${NOTIFICATIONS}/request`, { token, body });
  if (reply.status !== 200) throw new Error(`raising failed: ${reply.text}`);
  return reply.headers.get('location')!;
}

/** The ids of a list, in order. */
export const idsOf = ({ json }: Reply): number[] => json.map(({ id }: { id: number }) => id);

/** The address of the next page. */
export const nextOf = ({ headers }: Reply): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];

/** Status and body in one object, so that a test compares all members of the body. */
export const outcome = ({ status, json }: Pick<Reply, 'status' | 'json'>) => ({ ...json, status });

export async function call(
  url: string,
  method: string,
  path: string,
  { token, body, headers = {}, documented }: CallOptions = {},
): Promise<Reply> {
  const requestHeaders = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const requestBody = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  const response = await fetch(url + path, {
    method,
    headers: requestHeaders,
    ...(requestBody === undefined ? {} : { body: requestBody }),
  });
  const text = await response.text();
  if (documented !== false) {
    const { status, headers } = response;
    recordCall({ method, path, requestHeaders, requestBody, status, headers, body: text });
  }
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

/**
 * A server reads its keys again after half a minute. If that is slow, it keeps the old keys until the next time.
 * Returns the first reply with the new keys, or the last reply.
 */
export async function afterReload<T>(
  { clock }: Deskbell,
  ask: () => Promise<T>,
  isNew: (reply: T) => boolean,
  seconds = 31,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    await clock.advance(seconds);
    const reply = await ask();
    if (isNew(reply) || tries === 5) return reply;
  }
}

/** Checks a whole error: its status, a body with `detail`, `code` and an optional `field`, and its headers. */
export function assertError(reply: Reply, status: number, code: string, field?: string): void {
  assert.equal(reply.status, status, reply.text);
  const { detail, ...rest } = reply.json;
  assert.deepEqual(rest, { code, ...(field === undefined ? {} : { field }) });
  assert.match(detail, /\S/);
  assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(reply.headers.get('www-authenticate'), status === 401 ? 'Bearer' : null);
}

export interface RawReply {
  status: number;
  /** As received, in order. */
  headers: [name: string, value: string][];
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  json: any;
}

/** For requests that fetch would change: unusual paths, bytes, chunks, and headers that it adds or refuses. */
export function rawCall(
  { url }: Pick<Deskbell, 'url'>,
  method: string,
  path: string,
  { headers = {}, chunks = [] }: { headers?: Record<string, string>; chunks?: (string | Buffer)[] } = {},
): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const { statusCode = 0, rawHeaders } = response;
        const pairs = rawHeaders.flatMap((name, index): [string, string][] =>
          index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1]!]] : [],
        );
        resolve({ status: statusCode, headers: pairs, text, json: parsed(text) });
      });
    });
    request.on('error', reject);
    for (const chunk of chunks) request.write(chunk);
    request.end();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Short functions for the auth endpoints.
type Caller = Pick<Deskbell, 'call'>;
export const login = (
  deskbell: Caller,
  user: { email: string; password: string } = AURORA,
  headers: Record<string, string> = {},
) =>
  deskbell.call('POST', '/api/v1/auth/login', {
    body: { email: user.email, password: user.password },
    headers,
  });
export const refresh = (deskbell: Caller, refresh_token: unknown) =>
  deskbell.call('POST', '/api/v1/auth/refresh', { body: { refresh_token } });
export const logout = (deskbell: Caller, refresh_token: unknown) =>
  deskbell.call('POST', '/api/v1/auth/logout', { body: { refresh_token } });
export const me = (deskbell: Caller, token?: string) => deskbell.call('GET', '/api/v1/auth/me', { token });

/** Adds a user of Aurora with the same password, for a test that changes the user. */
export async function addUser({ database }: Deskbell) {
  const email = `${randomBytes(6).toString('hex')}@aurora.example`;
  const [row] = await database.run<{ id: number }>(
    `insert into users (merchant_id, email, email_key, name, role, password_hash, created_at)
      select merchant_id, $1, $1, name, role, password_hash, created_at from users where id = 1 returning id`,
    [email],
  );
  return { id: row!.id, email, password: AURORA.password };
}
