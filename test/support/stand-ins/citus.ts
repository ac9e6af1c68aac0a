import { readFileSync } from 'node:fs';
import pg from 'pg';

/**
 * A stand-in for Citus in a PostgreSQL of ours: its catalog and the functions that `db distribute` calls, with the refusals
 * of Citus 13 and its own messages. It distributes nothing: the rows stay where they are. So it cannot show what a node
 * does with a statement.
 */
export interface CitusStandIn {
  /** Every n-th call of Citus fails from now on: also `alter table`, which Citus follows. 0: none. */
  failEvery(n: number): Promise<void>;
  /** How many calls there were, failed ones included. */
  calls(): Promise<number>;
  /** What Citus knows: each table with its kind. */
  tables(): Promise<Record<string, 'distributed' | 'reference' | 'local'>>;
  /** The tables whose former rows on the coordinator were removed. */
  truncated(): Promise<string[]>;
  query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]>;
}

interface CitusOptions {
  /** The coordinator is not in the list of nodes. */
  withoutCoordinator?: boolean;
}

/** Into a database of a superuser. */
export async function installCitus(url: string, options: CitusOptions = {}): Promise<CitusStandIn> {
  const query = async <Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> => {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  await query(readFileSync(new URL('citus.sql', import.meta.url), 'utf8'));
  await query(
    `insert into pg_dist_node (groupid, nodename, nodeport) values (1, 'worker-1', 5432), (2, 'worker-2', 5432)`,
  );
  if (!options.withoutCoordinator) await query(`select citus_set_coordinator_host('coordinator')`);
  return {
    query,
    failEvery: async (n) => void (await query(`update citus_stand_in.faults set every = ${n}`)),
    async calls() {
      const [row] = await query<{ calls: string }>(
        'select case when is_called then last_value else 0 end as calls from citus_stand_in.calls',
      );
      return Number(row!.calls);
    },
    async tables() {
      const rows = await query<{ name: string; kind: 'distributed' | 'reference' | 'local' }>(
        `select logicalrelid::text as name,
            case when partmethod = 'h' then 'distributed' when repmodel = 't' then 'reference' else 'local' end as kind
          from pg_dist_partition order by 1`,
      );
      return Object.fromEntries(rows.map(({ name, kind }) => [name, kind]));
    },
    async truncated() {
      const rows = await query<{ name: string }>(
        'select name::text as name from citus_stand_in.truncated order by 1',
      );
      return rows.map(({ name }) => name);
    },
  };
}
