import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config.ts';
import type { Database, Engine } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createDemoDatabase, type TestDatabase } from './databases.ts';
import { type Serving, serve } from './process.ts';
import type { Receiver } from './receiver.ts';
import { makeQueuesDue } from './sending.ts';
import { AURORA, call, QUESTION, type Reply } from './server.ts';

/** The customer of the demo's first conversation. */
const CUSTOMER = '+34611550101';

type Settings = Record<string, string>;
type Call = (method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Reply>;

/** Servers on one database, which the test starts and kills. */
export interface Killing {
  testDatabase: TestDatabase;
  /** Uses the server's database, like a command. Set when the first server starts. */
  database: Database;
  start(settings: Settings): Promise<Serving>;
  /** Reuses the running server if it has these settings, because every start takes a second. */
  reuse(settings: Settings): Promise<Serving>;
  kill(server: Serving): Promise<void>;
  /** Calls `/api/v1` + path as an owner. Each call must succeed. */
  ownerOf(server: Serving): Call;
  /** Raises a question and answers it. */
  answer(server: Serving, body?: object, phone?: string): Promise<void>;
  /** The newest delivery. */
  delivery(): Promise<{ key: string; state: string; due_at: string } | undefined>;
  until(what: string, isSo: () => unknown, forMs?: number): Promise<void>;
  untilState(state: string): Promise<void>;
  /** Ends leases and waits for a status at once, so that the test does not need to wait. */
  expireWaits(): Promise<void>;
}

export function useKilling(engine: Engine): Killing {
  // Its key and the users stay those of the database.
  let token: string | undefined;
  /** The running servers, with their settings. */
  const running = new Map<Serving, string>();
  before(async () => {
    killing.testDatabase = await createDemoDatabase(engine);
  });
  after(async () => {
    for (const server of running.keys()) await killing.kill(server);
    await killing.database?.close();
    await killing.testDatabase?.remove();
  });

  const killing: Killing = {
    // Set before the first test.
    testDatabase: undefined as never,
    database: undefined as never,
    async start(settings) {
      const server = await serve({ ...killing.testDatabase.env, LOG_LEVEL: 'warn', ...settings });
      running.set(server, JSON.stringify(settings));
      killing.database ??= await openDatabase(readConfig(killing.testDatabase.env), 'command');
      return server;
    },
    async reuse(settings) {
      for (const [server, kind] of running) {
        if (kind === JSON.stringify(settings)) return server;
        await killing.kill(server);
      }
      return killing.start(settings);
    },
    async kill(server) {
      running.delete(server);
      await server.stop('SIGKILL');
    },
    ownerOf:
      ({ url }) =>
      async (method, path, body, headers = {}) => {
        token ??= (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token;
        const reply = await call(url, method, `/api/v1${path}`, { token: token!, body, headers });
        assert.ok(reply.status < 300, `${path}: ${reply.text}`);
        return reply;
      },
    async answer(server, body = {}, phone = CUSTOMER) {
      const owner = killing.ownerOf(server);
      const id = await raiseOn(owner, { question: 'Open on Sunday?', lead_phone: phone });
      await owner('POST', `/notification/${id}/answer`, { answer: 'From ten.', ...body });
    },
    delivery: () =>
      killing.database.one(
        'select key, state, due_at, attempts, last_code, unsettled_since from deliveries order by id desc limit 1',
      ),
    async until(what, isSo, forMs = 60_000) {
      for (const giveUpAt = Date.now() + forMs; Date.now() < giveUpAt; await sleep(10)) {
        if (await isSo()) return;
      }
      assert.fail(`timed out waiting until ${what}: ${JSON.stringify(await killing.delivery())}`);
    },
    untilState: (state) =>
      killing.until(`it is ${state}`, async () => (await killing.delivery())?.state === state),
    async expireWaits() {
      await killing.database.run(`update deliveries set due_at = $1 where state = 'sending'`, [
        new Date().toISOString(),
      ]);
      await makeQueuesDue(killing.database, new Date());
    },
  };
  return killing;
}

/** Raises a question and returns its id. */
export async function raiseOn(owner: Call, context: object): Promise<number> {
  const { headers } = await owner('POST', '/notification/request', { ...QUESTION, context });
  return Number(headers.get('location')!.split('/').at(-1));
}

/** The keys under which each notification's message with this text has arrived. */
export function keysOf({ received }: Receiver, text: string): Set<string>[] {
  const calls = received.filter(({ json }) => JSON.stringify(json).includes(text));
  const byNotification = Map.groupBy(calls, ({ json }) => json.data?.notification_id ?? json.notification_id);
  return [...byNotification.values()].map(
    (each) => new Set(each.map(({ headers }) => String(headers['webhook-id']))),
  );
}
