import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/services.ts';
import { readConfig } from '../../../src/config.ts';
import type { Database, Engine } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createOldDatabase } from '../../support/upgrades/database.ts';
import { createNextVersion, type NextVersion } from '../../support/upgrades/nextVersion.ts';
import { type Fault, type Finding, none, type Size } from './fault.ts';
import { type Balancer, startBalancer } from './upgrades/balancer.ts';
import { holdTable } from './upgrades/longQuery.ts';
import { type Replica, startReplica } from './upgrades/replica.ts';
import { startTraffic, type Traffic } from './upgrades/traffic.ts';

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
    let traffic: Traffic | undefined;
    let database: Database | undefined;
    try {
      // The clients are there from the start: they wait until the first server has migrated and listens.
      const [email, password] = Object.entries(old.passwords)[0]!;
      const starting = startTraffic(balancer.url, { email, password }, CLIENTS[size]);
      const upgradedAt = performance.now();
      for (const port of ports) {
        replicas.push(await startReplica(env, port));
        balancer.add(port);
      }
      const upgradeMs = performance.now() - upgradedAt;
      traffic = await starting;
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
      await traffic.stop();
      return [
        { what: 'seconds until 0.1.0’s database is upgraded', value: upgradeMs / 1000, unit: 's' },
        { what: 'seconds to replace all servers', value: forwardMs / 1000, unit: 's' },
        { what: 'seconds to roll back', value: backMs / 1000, unit: 's' },
        { what: 'requests', value: traffic.requests(), atLeast: 20 },
        none('requests refused', traffic.refused.length),
        ...(traffic.refused.length > 0 ? [{ what: traffic.refused[0]!, value: 1 }] : []),
        { what: 'longest request', value: traffic.slowestMs(), unit: 'ms' },
        { what: 'acknowledged questions and answers', value: traffic.written.size, atLeast: 4 },
        none('… that are missing', await countMissing(database, traffic)),
        none('old rows not changed exactly once', await countWrong(database, before!.last)),
        ...(await leftOvers(engine, database, next)),
      ];
    } finally {
      await traffic?.stop();
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

async function countMissing(database: Database, { written }: Traffic): Promise<number> {
  const rows = await database.all<{ id: number; context: string; answer: string | null; messages: number }>(
    `select id, context, answer, (select count(*) from deliveries d where d.notification_id = n.id) as messages
      from notifications n`,
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  return [...written].filter(([id, { question, answer }]) => {
    const row = found.get(id);
    if (!row?.context.includes(question)) return true;
    return answer !== undefined && (!row.answer?.includes(answer) || row.messages !== 1);
  }).length;
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
