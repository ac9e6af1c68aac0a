import type { Queries } from './database.ts';

/** What `deskbell doctor` reads from a database. Fast even if it is large. */

export async function databaseVersion(queries: Queries): Promise<string> {
  if (queries.engine === 'sqlite') {
    const row = await queries.one<{ version: string }>('select sqlite_version() as version');
    return `SQLite ${row?.version}`;
  }
  const row = await queries.one<{ server_version: string }>('show server_version');
  // "17.2 (Debian 17.2-1.pgdg120+1)"
  return `PostgreSQL ${row?.server_version.split(' ')[0]}`;
}

/** How far this machine's clock is ahead of PostgreSQL's. SQLite has no clock. */
export async function clockAheadMs(queries: Queries, now: () => Date): Promise<number | undefined> {
  if (queries.engine === 'sqlite') return undefined;
  const asked = now().getTime();
  const row = await queries.one<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  const answered = now().getTime();
  return row ? (asked + answered) / 2 - row.ms : undefined;
}

/** The latest time in the database, among those that an index or a small table can provide quickly. */
export async function newestTime(queries: Queries): Promise<Date | undefined> {
  const row = await queries.one<{ newest: string | null }>(
    `select max(at) as newest from (
      select max(applied_at) as at from schema_migrations
      union all select max(created_at) from signing_keys
      union all select max(created_at) from idempotency_keys
      union all select max(failed_at) from sign_in_failures
      union all select created_at from (select created_at from sessions order by expires_at desc limit 1) latest
    ) times`,
  );
  return row?.newest ? new Date(row.newest) : undefined;
}
