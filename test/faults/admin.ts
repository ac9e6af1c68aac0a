import pg from 'pg';

/** What its administrator says to a PostgreSQL, on a connection for that alone. */
export async function ask<Row extends pg.QueryResultRow>(url: string, ...sql: string[]): Promise<Row[]> {
  // It goes on where everybody else may only read.
  const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=off' });
  await client.connect();
  try {
    let rows: Row[] = [];
    for (const one of sql) ({ rows } = await client.query<Row>(one));
    return rows;
  } finally {
    await client.end();
  }
}

/** For all that connect or are connected. */
export const setSetting = (url: string, name: string, value: string): Promise<unknown> =>
  ask(url, `alter system set ${name} = '${value}'`, 'select pg_reload_conf()');
