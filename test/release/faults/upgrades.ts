import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/services.ts';
import { readConfig } from '../../../src/config.ts';
import type { Database, Engine } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createOldDatabase } from '../../support/upgrades/database.ts';
import { createNextVersion, type NextVersion } from '../../support/upgrades/nextVersion.ts';
import { type Fault, type Finding, none, type Size } from './fault.ts';
import { countLost, type Load, slowestMs, startLoad } from './load.ts';
import { type Balancer, startBalancer } from './upgrades/balancer.ts';
import { holdTable } from './upgrades/longQuery.ts';
import { type Replica, startReplica } from './upgrades/replica.ts';

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
    const ports = await Promise.all(Array.from({ length: engine === 'sqlite' ? 1 : 2 }, freePort));
    const balancer = await startBalancer();
    let replicas: Replica[] = [];
    let load: Load | undefined;
    let database: Database | undefined;
    try {
      // The clients are there from the start: they wait until the first server has migrated and listens.
      const users = Object.entries(old.passwords).map(([email, password]) => ({ email, password }));
      const starting = startLoad({ urls: [balancer.url], clients: CLIENTS[size], pauseMs: 20, users });
      const upgradedAt = performance.now();
      for (const port of ports) {
        replicas.push(await startReplica(env, port));
        balancer.add(port);
      }
      const upgradeMs = performance.now() - upgradedAt;
      load = await starting;
      database = await openDatabase(readConfig(testDatabase.env), 'command');
      await fill(database, NOTIFICATIONS[size]);
      const before = await database.one<{ last: number }>('select max(id) as last from notifications');
      await sleep(PAUSE_MS[size]);

      const longQuery =
        engine === 'postgres' ? holdTable(testDatabase.env.DATABASE_URL!, LONG_QUERY_MS[size]) : undefined;
      const roll = (program?: string) => replaceAll(replicas, balancer, env, program);
      const forwardMs = await timed(async () => {
        replicas = await roll(next.program);
      });
      await longQuery;
      // A server of the new version is killed while it changes old rows.
      if (engine === 'postgres' && size === 'full') {
        await balancer.remove(ports[0]!);
        await replicas[0]!.kill();
        replicas[0] = await startReplica(env, ports[0]!, next.program);
        balancer.add(ports[0]!);
      }
      await waitForChange(database);
      await sleep(PAUSE_MS[size]);
      const backMs = await timed(async () => {
        replicas = await roll();
      });
      await sleep(PAUSE_MS[size]);
      await load.stop();
      const refused = load.requests.filter(({ done }) => !done).length;
      for (const line of load.wrong.slice(0, 5)) console.error(line);
      return [
        { what: 'seconds until 0.1.0’s database is upgraded', value: upgradeMs / 1000, unit: 's' },
        { what: 'seconds to replace all servers', value: forwardMs / 1000, unit: 's' },
        { what: 'seconds to roll back', value: backMs / 1000, unit: 's' },
        { what: 'requests', value: load.requests.length, atLeast: 20 },
        none('requests refused', refused),
        { what: 'longest request', value: slowestMs(load), unit: 'ms' },
        {
          what: 'acknowledged questions and answers',
          value: load.raised.size + load.answered.size,
          atLeast: 4,
        },
        none('… that are missing', await countLost(database, load)),
        none('old rows not changed exactly once', await countWrong(database, before!.last)),
        ...(await leftOvers(engine, database, next)),
      ];
    } finally {
      await load?.stop();
      await Promise.all(replicas.map((replica) => replica.kill()));
      await balancer.close();
      await database?.close();
      await testDatabase.remove();
      next.remove();
    }
  },
};

/** As an orchestrator does: the server gets no more requests, finishes those it has, stops, and the next one starts. */
async function replaceAll(
  replicas: readonly Replica[],
  balancer: Balancer,
  env: Record<string, string>,
  program?: string,
): Promise<Replica[]> {
  const fresh: Replica[] = [];
  for (const { port, stop } of replicas) {
    await balancer.remove(port);
    await stop();
    fresh.push(await startReplica(env, port, program));
    balancer.add(port);
  }
  return fresh;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function fill(database: Database, count: number): Promise<void> {
  const { merchant_id, conversation_id, answer_schema_id } = (await database.one<{
    merchant_id: number;
    conversation_id: number;
    answer_schema_id: string;
  }>('select merchant_id, conversation_id, answer_schema_id from notifications order by id limit 1'))!;
  const at = '2026-11-01T00:00:00.000Z';
  for (let done = 0; done < count; done += 300) {
    const row = `(${merchant_id}, ${conversation_id}, 'user_question_request', '${at}', '${at}', '{"question":"Old?"}',
      '["question"]', '["answer"]', '${answer_schema_id}')`;
    await database.run(
      `insert into notifications (merchant_id, conversation_id, notification_type, created_at, updated_at, context,
          requested_fields, answered_fields, answer_schema_id) values ${Array(300).fill(row)}`,
    );
  }
}

async function waitForChange(database: Database): Promise<void> {
  for (const giveUpAt = Date.now() + GIVE_UP_MS; Date.now() < giveUpAt; await sleep(100)) {
    const open = await database.one('select 1 from background_changes where finished_at is null');
    if (!open) return;
  }
}

async function countWrong(database: Database, last: number): Promise<number> {
  const row = await database.one<{ wrong: number }>(
    'select count(*) as wrong from notifications where next_visits > 1 or (id <= $1 and next_visits <> 1)',
    [last],
  );
  return row!.wrong;
}

async function leftOvers(engine: Engine, database: Database, next: NextVersion): Promise<Finding[]> {
  const open = await database.all('select 1 from background_changes where finished_at is null');
  const findings = [none(`changes of ${next.version} not finished`, open.length)];
  if (engine === 'sqlite') return findings;
  const invalid = await database.all('select 1 from pg_index where not indisvalid');
  return [...findings, none('invalid indexes', invalid.length)];
}
