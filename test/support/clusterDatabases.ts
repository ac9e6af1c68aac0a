import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { distribute } from '../../src/database/spread/distribute.ts';

/**
 * Databases on a real cluster, for TEST_CITUS_URL: the address of a database on the coordinator, of a superuser. Its nodes
 * are those of the new databases. Each must be reachable from here under the name that the coordinator knows, with the same
 * user.
 */
interface Node {
  groupid: number;
  nodename: string;
  nodeport: number;
}

const NODES = `select groupid, nodename, nodeport from pg_dist_node where isactive and noderole = 'primary' order by groupid`;

/** A cluster cannot copy a database, and each database has its own list of nodes. */
export async function createOnCluster(url: string, name: string): Promise<void> {
  const nodes = await queryOn<Node>(url, NODES);
  for (const server of [url, ...workersOf(url, nodes)]) {
    await queryOn(server, `create database ${name}`);
    await queryOn(inDatabase(server, name), 'create extension citus');
  }
  for (const { groupid, nodename, nodeport } of nodes) {
    const register = groupid === 0 ? 'citus_set_coordinator_host' : 'citus_add_node';
    await queryOn(inDatabase(url, name), `select ${register}('${nodename}', ${nodeport})`);
  }
}

export async function dropOnCluster(url: string, name: string): Promise<void> {
  const nodes = await queryOn<Node>(url, NODES);
  for (const server of [url, ...workersOf(url, nodes)])
    await queryOn(server, `drop database if exists ${name} with (force)`);
}

/** Creates the tables and spreads them. */
export async function spreadTables(env: Record<string, string>): Promise<void> {
  const database = await openDatabase(readConfig(env), 'distribute');
  try {
    await migrate(database, () => new Date());
    await distribute(database, {
      dryRun: false,
      countRunning: async () => 0,
      countPendingMigrations: async () => 0,
      onStep() {},
      onSkipped({ what }, error) {
        throw new Error(what, { cause: error });
      },
    });
  } finally {
    await database.close();
  }
}

const workersOf = (url: string, nodes: readonly Node[]): string[] =>
  nodes
    .filter(({ groupid }) => groupid !== 0)
    .map(({ nodename, nodeport }) => {
      const worker = new URL(url);
      worker.hostname = nodename;
      worker.port = String(nodeport);
      return worker.href;
    });

function inDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = name;
  return other.href;
}

async function queryOn<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
