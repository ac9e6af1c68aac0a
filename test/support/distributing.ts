import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { run } from './command.ts';
import { createUsedDatabase, type KillAt, runAndKill } from './copying.ts';
import { citusUrl, engines, type TestDatabase } from './databases.ts';
import { until } from './shops.ts';
import { type CitusStandIn, installCitus } from './stand-ins/citus.ts';

/** For tests of `db distribute`, with a stand-in for Citus. */

const FOREIGN_KEYS = `select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) as key
  from pg_constraint where contype = 'f' order by 1`;

export const distribute = ({ env }: TestDatabase, ...options: string[]) =>
  run(['db', 'distribute', ...options], { env });
export const urlOf = ({ env }: TestDatabase) => env.DATABASE_DIRECT_URL ?? env.DATABASE_URL!;

/** `db distribute` is killed before this statement, and PostgreSQL has noticed it: until then, it seems to run. */
export async function distributeAndKill({ testDatabase, citus }: Cluster, at: KillAt): Promise<void> {
  assert.equal(await runAndKill(['db', 'distribute'], testDatabase.env, at), true);
  const own = `select 1 from pg_stat_activity where datname = current_database() and application_name like 'deskbell%'`;
  await until('its connections are closed', async () => (await citus.query(own)).length === 0);
}

export interface Cluster {
  testDatabase: TestDatabase;
  citus: CitusStandIn;
  keysBefore: string[];
  keys(): Promise<string[]>;
  state(): Promise<{ keys: string[]; tables: Record<string, string>; calls: number }>;
}

/** A filled database on a cluster whose tables are not spread yet. */
export function useCluster(): Cluster {
  const cluster = {} as Cluster;
  before(async () => {
    const testDatabase = await createUsedDatabase('postgres');
    const citus = await installCitus(urlOf(testDatabase));
    const keys = async () => (await citus.query<{ key: string }>(FOREIGN_KEYS)).map(({ key }) => key);
    Object.assign(cluster, {
      ...{ testDatabase, citus, keys },
      keysBefore: await keys(),
      state: async () => ({ keys: await keys(), tables: await citus.tables(), calls: await citus.calls() }),
    } satisfies Cluster);
    assert.ok(cluster.keysBefore.length > 40);
  });
  after(() => cluster.testDatabase?.remove());
  return cluster;
}

/** Why tests with the stand-in are skipped, or false. */
export const NO_STAND_IN = citusUrl
  ? 'a real cluster does not fail when it is told to'
  : !engines.includes('postgres') && 'PostgreSQL is missing';
