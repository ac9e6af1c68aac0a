import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import pg from 'pg';
import { type Config, readConfig } from '../src/config.ts';
import type { Database, Engine } from '../src/database/database.ts';
import { createLogger } from '../src/log.ts';
import { newSecretKey } from '../src/secrets.ts';
import { openServer } from '../src/server.ts';

/** The real server on a real database, spoken to over HTTP. The clock alone is ours. */
export interface Deskbell {
  url: string;
  engine: Engine;
  config: Config;
  database: Database;
  clock: Clock;
  /** Every line the server logged, as it was written. */
  logged: string[];
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** Signs in and gives the access token. */
  signIn(email?: string, password?: string): Promise<string>;
  close(): Promise<void>;
}

export interface CallOptions {
  token?: string | undefined;
  /** Sent as JSON; a string is sent as it is. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what came, whatever its shape
  json: any;
}

export interface Clock {
  now(): Date;
  advance(seconds: number): void;
}

export const AURORA = { email: 'owner@aurora.example', password: 'aurora-demo' };
export const BOREALIS = { email: 'owner@borealis.example', password: 'borealis-demo' };
export const OPERATOR = { email: 'operator@deskbell.example', password: 'operator-demo' };

const postgresUrl = process.env.TEST_POSTGRESQL_URL;
export const redisUrl = process.env.TEST_REDIS_URL;
export const engines: readonly Engine[] = postgresUrl ? ['sqlite', 'postgres'] : ['sqlite'];

/** Declares the same tests for each engine. */
export function onEachEngine(title: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${title} (${engine})`, () => tests(engine));
}

/** An empty place for a database: the settings that lead there, and how to remove it. */
export async function newDatabasePlace(
  engine: Engine,
): Promise<{ env: Record<string, string>; remove(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-test-'));
  if (engine === 'sqlite') {
    return {
      env: { DATA_DIR: folder },
      async remove() {
        rmSync(folder, { recursive: true, force: true });
      },
    };
  }
  if (!postgresUrl) throw new Error('no PostgreSQL: run the tests with npm test');
  const name = `t${randomBytes(8).toString('hex')}`;
  await asAdmin(`create database ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = name;
  return {
    env: { DATA_DIR: folder, DATABASE_URL: url.href, SECRET_KEY: newSecretKey(), DEMO: 'true' },
    async remove() {
      await asAdmin(`drop database ${name} with (force)`);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function asAdmin(sql: string): Promise<void> {
  const client = new pg.Client(postgresUrl);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** For a whole suite: a server that starts before its first test and is gone after its last. */
export function useDeskbell(engine: Engine, settings: Record<string, string> = {}): Deskbell {
  const deskbell = {} as Deskbell;
  before(async () => {
    Object.assign(deskbell, await startDeskbell(engine, settings));
  });
  after(() => deskbell.close?.());
  return deskbell;
}

/** Starts a server on a database of its own. Whoever starts it closes it. */
export async function startDeskbell(
  engine: Engine,
  settings: Record<string, string> = {},
): Promise<Deskbell> {
  const place = await newDatabasePlace(engine);
  const config = readConfig({
    PORT: '0',
    LOG_LEVEL: 'info',
    RATE_LIMIT_PER_MINUTE: '0',
    ...place.env,
    ...settings,
  });
  const logged: string[] = [];
  const log = createLogger(
    { logLevel: config.logLevel, logPretty: false },
    { write: (line) => logged.push(line) },
  );

  let offsetMs = 0;
  const clock: Clock = {
    now: () => new Date(Date.now() + offsetMs),
    advance: (seconds) => {
      offsetMs += seconds * 1000;
    },
  };
  const server = await openServer(config, log, clock.now);
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 });

  let closed = false;
  const deskbell: Deskbell = {
    url,
    engine,
    config,
    database: server.database,
    clock,
    logged,
    call: (method, path, options) => call(url, method, path, options),
    async signIn(email = AURORA.email, password = AURORA.password) {
      const reply = await call(url, 'POST', '/api/v1/auth/login', { body: { email, password } });
      if (reply.status !== 200) throw new Error(`sign-in failed: ${reply.text}`);
      return reply.json.access_token;
    },
    async close() {
      if (closed) return;
      closed = true;
      await server.close();
      await place.remove();
    },
  };
  return deskbell;
}

export async function call(
  url: string,
  method: string,
  path: string,
  { token, body, headers = {} }: CallOptions = {},
): Promise<Reply> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: response.headers, text, json };
}
