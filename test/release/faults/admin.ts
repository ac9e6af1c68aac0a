import pg from 'pg';

/** Runs statements on PostgreSQL as its administrator, on a separate connection. */
export async function runAsAdmin<Row extends pg.QueryResultRow>(
  url: string,
  ...sql: string[]
): Promise<Row[]> {
  // Works even while the server is read-only for everybody else.
  const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=off' });
  await client.connect();
  try {
    let rows: Row[] = [];
    for (const statement of sql) ({ rows } = await client.query<Row>(statement));
    return rows;
  } finally {
    await client.end();
  }
}

/** Changes a setting for all current and new connections. */
export const setSetting = (url: string, name: string, value: string): Promise<unknown> =>
  runAsAdmin(url, `alter system set ${name} = '${value}'`, 'select pg_reload_conf()');
