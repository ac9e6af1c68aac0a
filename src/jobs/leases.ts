import { randomUUID } from 'node:crypto';
import type { Database, Queries } from '../database/database.ts';

/** Who does a job at the moment, and what fails: the only SQL on job_leases. */

/** If a process dies, another one goes on after this time. */
const LEASE_MS = 90_000;
const RENEW_EVERY_MS = LEASE_MS / 4;

interface Lease {
  /** Aborted when another process has it. */
  lost: AbortSignal;
  /** Nobody takes it before `until`: now, without it. */
  end(until?: Date): Promise<void>;
}

/** Undefined if somebody has it, or its time has not come. It is renewed until it ends. */
export async function takeLease(
  database: Database,
  job: string,
  key: string,
  now: () => Date,
): Promise<Lease | undefined> {
  const own = [job, key, randomUUID()] as const;
  const leaseEnd = () => new Date(now().getTime() + LEASE_MS);
  const taken = await database.run(
    `insert into job_leases (job, key, holder, until) values ($1, $2, $3, $4)
      on conflict (job, key) do update set holder = excluded.holder, until = excluded.until
        where job_leases.until <= $5 returning job`,
    [...own, leaseEnd().toISOString(), now().toISOString()],
  );
  if (taken.length === 0) return undefined;
  const lost = new AbortController();
  const hold = async (until: Date) => {
    const held = await database.run(
      'update job_leases set until = $4 where job = $1 and key = $2 and holder = $3 returning job',
      [...own, until.toISOString()],
    );
    if (held.length === 0) lost.abort();
  };
  // If the database is away, the next one renews it, or another process takes it.
  const renewing = setInterval(() => void hold(leaseEnd()).catch(() => {}), RENEW_EVERY_MS).unref();
  return {
    lost: lost.signal,
    end(until = now()) {
      clearInterval(renewing);
      return hold(until);
    },
  };
}

/** Nobody who needs a lease tries it again before `until`. `doctor` shows it. */
export async function noteFailure(
  queries: Queries,
  job: string,
  key: string,
  { since, until }: { since: Date; until: Date },
): Promise<void> {
  await queries.run(
    `insert into job_leases (job, key, holder, until, failing_since) values ($1, $2, '', $3, $4)
      on conflict (job, key) do update set until = excluded.until,
        failing_since = coalesce(job_leases.failing_since, excluded.failing_since)
      returning job`,
    [job, key, until.toISOString(), since.toISOString()],
  );
}

export async function forgetFailure(queries: Queries, job: string, key: string): Promise<void> {
  await queries.run('update job_leases set failing_since = null where job = $1 and key = $2 returning job', [
    job,
    key,
  ]);
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
