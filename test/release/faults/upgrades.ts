import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../../scripts/services.ts';
import { readConfig } from '../../../src/config.ts';
import type { Database, Engine } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createOldDatabase } from '../../support/upgrades/database.ts';
import { createNextVersion, type NextVersion } from '../../support/upgrades/nextVersion.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { type Fault, type Finding, none, type Size } from './fault.ts';
import { countLost, type Load, refusedCount, slowestMs, startLoad } from './load.ts';
import { type KillableServer, startKillableServer } from './servers.ts';

const CLIENTS: Record<Size, number> = { short: 3, full: 8 };
/** Old notifications for the change in the background. */
const NOTIFICATIONS: Record<Size, number> = { short: 600, full: 30_000 };
/** How long somebody else's transaction keeps the migration waiting. */
const LONG_QUERY_MS: Record<Size, number> = { short: 3500, full: 10_000 };
const PAUSE_MS: Record<Size, number> = { short: 300, full: 5000 };
const GIVE_UP_MS = 120_000;

/**
 * A filled database of version 0.1.0 is upgraded to this version, then to a next one that has more migrations, and back,
 * while clients work. On PostgreSQL two servers are replaced one after another. SQLite allows one server, so clients wait
 * while it restarts.
 */
export const upgrades: Fault = {
  name: 'upgrades',
  title: 'a filled database is upgraded and rolled back under load',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const next = createNextVersion();
    const [testDatabase, old] = await createOldDatabase(engine);
    const env = {
      ...testDatabase.env,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      OVERLOAD_DELAY_MS: '0',
    };
    const balancer = await startBalancer();
    const servers: KillableServer[] = [];
    let load: Load | undefined;
    let database: Database | undefined;
    try {
      // The clients are there from the start: they wait until the first server has migrated and listens.
      const users = Object.entries(old.passwords).map(([email, password]) => ({ email, password }));
      const starting = startLoad({ urls: [balancer.url], clients: CLIENTS[size], pauseMs: 20, users });
      const upgradeMs = await timed(async () => {
        for (let n = engine === 'sqlite' ? 1 : 2; n > 0; n -= 1) {
          const server = await startKillableServer(env, { port: await freePort() });
          servers.push(server);
          balancer.add(server.port);
        }
      });
      load = await starting;
      database = await openDatabase(readConfig(testDatabase.env), 'command');
      await fill(database, NOTIFICATIONS[size]);
      const before = await database.one<{ last: number }>('select max(id) as last from notifications');
      await sleep(PAUSE_MS[size]);

      const longQuery =
        engine === 'postgres' ? holdTable(testDatabase.env.DATABASE_URL!, LONG_QUERY_MS[size]) : undefined;
      const forwardMs = await timed(() => replaceAll(servers, balancer, env, next.program));
      await longQuery;
      // A server of the new version is killed while it changes old rows.
      if (engine === 'postgres' && size === 'full') {
        const [{ port, killAndRestart }] = servers as [KillableServer];
        await balancer.remove(port);
        await killAndRestart();
        balancer.add(port);
      }
      await waitForChange(database);
      await sleep(PAUSE_MS[size]);
      const backMs = await timed(() => replaceAll(servers, balancer, env));
      await sleep(PAUSE_MS[size]);
      await load.stop();
      for (const line of load.wrong.slice(0, 5)) console.error(line);
      const acknowledged = load.raised.size + load.answered.size;
      return [
        { what: 'seconds until 0.1.0’s database is upgraded', value: upgradeMs / 1000, unit: 's' },
        { what: 'seconds to replace all servers', value: forwardMs / 1000, unit: 's' },
        { what: 'seconds to roll back', value: backMs / 1000, unit: 's' },
        { what: 'requests', value: load.requests.length, atLeast: 20 },
        none('requests refused', refusedCount(load)),
        { what: 'longest request', value: slowestMs(load), unit: 'ms' },
        { what: 'acknowledged questions and answers', value: acknowledged, atLeast: 4 },
        none('… that are missing', await countLost(database, load)),
        none('old rows not changed exactly once', await countWrong(database, before!.last)),
        ...(await leftOvers(engine, database, next)),
      ];
    } finally {
      await load?.stop();
      await Promise.all(servers.map((server) => server.stop()));
      await balancer.close();
      await database?.close();
      await testDatabase.remove();
      next.remove();
    }
  },
};

/** As an orchestrator does: the server gets no more requests, finishes those it has, stops, and the next one starts. */
async function replaceAll(
  servers: KillableServer[],
  balancer: Balancer,
  env: Record<string, string>,
  program?: string,
): Promise<void> {
  for (const [n, { port, stop }] of servers.entries()) {
    await balancer.remove(port);
    await stop('SIGTERM');
    servers[n] = await startKillableServer(env, { port, ...(program === undefined ? {} : { program }) });
    balancer.add(port);
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Somebody else's report: a transaction that has read the tables and stays open. */
async function holdTable(url: string, ms: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const sql of ['begin', 'select 1 from notifications limit 1', 'select 1 from deliveries limit 1'])
      await client.query(sql);
    await sleep(ms);
  } finally {
    await client.end();
  }
}

async function fill(database: Database, count: number): Promise<void> {
  const at = '2026-11-01T00:00:00.000Z';
  for (let left = count; left > 0; left -= 300) {
    await database.run(
      `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
          requested_fields, answered_fields, answer_schema_id)
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 300),
          first as (select * from notifications order by id limit 1)
        select merchant_id, conversation_id, 'user_question_request', $1, $1, '{"question":"Old?"}',
          '["question"]', '["answer"]', answer_schema_id from numbers, first`,
      [at],
    );
  }
}

const openChanges = (database: Database) =>
  database.all('select 1 from background_changes where finished_at is null');

async function waitForChange(database: Database): Promise<void> {
  for (const giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(100))
    if ((await openChanges(database)).length === 0) return;
}

async function countWrong(database: Database, last: number): Promise<number> {
  const row = await database.one<{ wrong: number }>(
    'select count(*) as wrong from notifications where next_visits > 1 or (id <= $1 and next_visits <> 1)',
    [last],
  );
  return row!.wrong;
}

async function leftOvers(engine: Engine, database: Database, next: NextVersion): Promise<Finding[]> {
  const open = (await openChanges(database)).length;
  const findings = [none(`changes of ${next.version} not finished`, open)];
  if (engine === 'sqlite') return findings;
  const invalid = await database.all('select 1 from pg_index where not indisvalid');
  return [...findings, none('invalid indexes', invalid.length)];
}
