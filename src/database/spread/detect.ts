import type { Query } from '../postgresStatements.ts';

/** Whether the tables are spread over a cluster by Citus: see `deskbell db distribute`. */
export async function isSpreadByMerchant(query: Query): Promise<boolean> {
  const [citus] = await query<{ is_there: boolean }>(
    `select to_regclass('pg_dist_partition') is not null as is_there`,
  );
  if (!citus?.is_there) return false;
  const rows = await query(
    `select 1 from pg_dist_partition where logicalrelid = to_regclass('notifications') and partmethod = 'h'`,
  );
  return rows.length > 0;
}
