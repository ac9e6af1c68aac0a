import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import type { TestDatabase } from '../../../support/databases.ts';
import type { Serving } from '../../../support/process.ts';
import { NOTIFICATIONS, startDeskbell } from '../../../support/server.ts';
import { type Finding, none, type Size } from '../fault.ts';
import { monitorServer } from '../monitor.ts';
import type { Attack, Target } from '../neighbours.ts';

const CLIENTS = 4;
const MEMORY_MAX_MB = 100;
/** Rows at once: a statement may take three seconds. */
const INSERTED_MAX = 1000;
const SECONDS: Record<Size, number> = { short: 1, full: 20 };

interface Contexts {
  count: number;
  bytes: number;
}

/** Clients that read one long list again and again. */
export const largeLists = (what: string, contexts: Record<Size, readonly Contexts[]>): Attack => ({
  what,
  // As `npm start` does.
  settings: { NODE_OPTIONS: '--max-semi-space-size=8' },
  prepare: (testDatabase, size) => insertContexts(testDatabase, contexts[size]),
  run: (target) => readLists(what, target, contexts[target.size]),
});

/** With SQL, because the API accepts smaller contexts only. */
async function insertContexts(testDatabase: TestDatabase, contexts: readonly Contexts[]): Promise<void> {
  const engine = testDatabase.env.DATABASE_URL === undefined ? 'sqlite' : 'postgres';
  const deskbell = await startDeskbell(engine, { WORKER: 'false' }, testDatabase);
  try {
    for (const { count, bytes } of contexts) {
      const rows = Math.max(1, Math.min(count, Math.floor(4_000_000 / bytes), INSERTED_MAX));
      const context = JSON.stringify({ question: 'x'.repeat(bytes - '{"question":""}'.length) });
      for (let left = count; left > 0; left -= rows) {
        await deskbell.database.run(
          `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at,
              context, requested_fields, answered_fields, answer_schema_id)
            with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${Math.min(rows, left)})
            select 1, 1, 'user_question_request', $1, $1, $2, '["question"]', '["answer"]',
              (select min(id) from answer_schemas) from numbers`,
          [new Date().toISOString(), context],
        );
      }
    }
  } finally {
    await deskbell.close();
  }
}

async function readLists(what: string, target: Target, contexts: readonly Contexts[]): Promise<Finding[]> {
  const count = contexts.reduce((sum, { count }) => sum + count, 0);
  const { server, size, token } = target;
  // Signing in and the first requests belong to the idle state.
  await sleep(1000);
  const monitor = monitorServer(server);
  const until = performance.now() + SECONDS[size] * 1000;
  const figures = { whole: 0, refused: 0, broken: 0 };
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      while (performance.now() < until) {
        const reply = await readList(server, token, client % 2 === 0 ? 'identity' : 'gzip');
        if (reply.status === 429) {
          figures.refused += 1;
          await sleep(200);
        } else if (reply.status === 200 && reply.notifications >= count && reply.isWhole) figures.whole += 1;
        else figures.broken += 1;
      }
    }),
  );
  const { residentMb, stallsMs } = await monitor.stop();
  return [
    { what: `${what}: lists that arrived whole`, value: figures.whole, atLeast: 2, dependsOnSpeed: true },
    { what: `${what}: lists refused for the moment`, value: figures.refused },
    none(`${what}: lists that did not arrive whole`, figures.broken),
    {
      what: `${what}: memory above idle`,
      value: Math.max(...residentMb) - residentMb[0]!,
      unit: 'MB',
      atMost: MEMORY_MAX_MB,
    },
    {
      what: `${what}: longest block of the event loop`,
      value: Math.max(...stallsMs),
      unit: 'ms',
      atMost: 100,
    },
  ];
}

const MARK = Buffer.from('"notification_type"');

/** Counted, not parsed: a list of 60 MB would keep this thread busy. */
async function readList({ port }: Serving, token: string, encoding: string) {
  const reply = { status: 0, notifications: 0, isWhole: false };
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': encoding };
  const sent = request({ host: '127.0.0.1', port, path: `${NOTIFICATIONS}/`, headers, agent: false }).end();
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const isZipped = response.headers['content-encoding'] === 'gzip';
    // A name may be split between two parts.
    let end = Buffer.alloc(0);
    for await (const part of isZipped ? response.compose(createGunzip()) : response) {
      const text = Buffer.concat([end, part]);
      for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1)) reply.notifications += 1;
      end = text.subarray(-(MARK.length - 1));
    }
    return { ...reply, status: response.statusCode, isWhole: end.at(-1) === ']'.charCodeAt(0) };
  } catch {
    return reply;
  }
}
