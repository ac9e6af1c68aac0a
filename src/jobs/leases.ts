import { randomUUID } from 'node:crypto';
import type { Database, Queries } from '../database/database.ts';
import type { Expiring } from '../database/expiry.ts';

/** Who does a job at the moment, and what fails: the only SQL on job_leases. */

/** If a process dies, another one goes on after this time. */
const LEASE_MS = 90_000;
const RENEW_EVERY_MS = LEASE_MS / 4;

export interface Lease {
  failingSince: string | null;
  /** Aborted when another process has it. */
  lost: AbortSignal;
  /** Nobody takes it before `until`. Absent: it is done. */
  end(next?: { until: Date; failingSince?: string }): Promise<void>;
}

/** Undefined if somebody has it, or its time has not come. It is renewed until it ends. */
export async function takeLease(
  database: Database,
  job: string,
  key: string,
  now: () => Date,
): Promise<Lease | undefined> {
  const holder = randomUUID();
  const untilOf = () => new Date(now().getTime() + LEASE_MS).toISOString();
  const [row] = await database.run<{ failing_since: string | null }>(
    `insert into job_leases (job, key, holder, until) values ($1, $2, $3, $4)
      on conflict (job, key) do update set holder = excluded.holder, until = excluded.until
        where job_leases.until <= $5 returning failing_since`,
    [job, key, holder, untilOf(), now().toISOString()],
  );
  if (!row) return undefined;
  const lost = new AbortController();
  const update = async (until: string, failingSince: string | null) => {
    const rows = await database.run(
      `update job_leases set until = $4, failing_since = $5
        where job = $1 and key = $2 and holder = $3 returning job`,
      [job, key, holder, until, failingSince],
    );
    if (rows.length === 0) lost.abort();
  };
  const renewing = setInterval(() => {
    // If the database is away, the next one renews it, or another process takes it.
    update(untilOf(), row.failing_since).catch(() => {});
  }, RENEW_EVERY_MS).unref();
  return {
    failingSince: row.failing_since,
    lost: lost.signal,
    async end(next) {
      clearInterval(renewing);
      if (next) return update(next.until.toISOString(), next.failingSince ?? null);
      await database.run('delete from job_leases where job = $1 and key = $2 and holder = $3 returning job', [
        ...[job, key, holder],
      ]);
    },
  };
}

/** For a job without a lease: only `doctor` reads it. */
export async function noteFailure(
  queries: Queries,
  job: string,
  key: string,
  { since, until }: { since: Date; until: Date },
): Promise<void> {
  await queries.run(
    `insert into job_leases (job, key, holder, until, failing_since) values ($1, $2, '', $3, $4)
      on conflict (job, key) do update set until = excluded.until returning job`,
    [job, key, until.toISOString(), since.toISOString()],
  );
}

export async function forgetFailure(queries: Queries, job: string, key: string): Promise<void> {
  await queries.run('delete from job_leases where job = $1 and key = $2 returning job', [job, key]);
}

const FAILING_MAX = 10;

/** What fails, longest ago first. What nobody has tried for an hour is left out: it is no longer due. */
export const listFailing = (
  queries: Queries,
  at: Date,
): Promise<{ job: string; key: string; failing_since: string }[]> =>
  queries.all(
    `select job, key, failing_since from job_leases where failing_since is not null and until > $1
      order by failing_since limit ${FAILING_MAX}`,
    [new Date(at.getTime() - 60 * 60_000).toISOString()],
  );

/** Of merchants that are gone. */
export const EXPIRING_LEASES: Expiring = { table: 'job_leases', column: 'until', keptMs: 24 * 60 * 60_000 };
