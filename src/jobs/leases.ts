import { randomUUID } from 'node:crypto';
import type { Database, Queries } from '../database/database.ts';
import type { Expiring } from '../database/expiry.ts';

/** Who does a job at the moment: the only SQL on job_leases. */

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

/** The jobs that have failed for so long. For `doctor`. */
export const listFailing = (
  queries: Queries,
  before: Date,
): Promise<{ job: string; key: string; failing_since: string }[]> =>
  queries.all(
    'select job, key, failing_since from job_leases where failing_since <= $1 order by failing_since limit 10',
    [before.toISOString()],
  );

/** Of merchants that are gone. */
export const EXPIRING_LEASES: Expiring = { table: 'job_leases', column: 'until', keptMs: 24 * 60 * 60_000 };
