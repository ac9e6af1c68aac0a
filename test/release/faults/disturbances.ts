import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/database/database.ts';
import type { Fault, Meta } from '../../support/stand-ins/meta.ts';

/** What happens around the servers: errors of the channel, late status reports, and shortened waiting times. */

const CHANNEL_FAULTS: readonly (readonly [share: number, fault: Fault])[] = [
  [0.03, { code: 130429 }],
  [0.03, { code: 131016, http: 500 }],
  [0.015, { http: 500 }],
  [0.015, { http: 503, text: 'upstream' }],
  [0.02, { cut: 'after' }],
  [0.01, { cut: 'before' }],
  // A permanent failure: the merchant must retry it.
  [0.01, { code: 131026 }],
];
/** Ten seconds without an answer, so only in the full run. */
const TIME_OUT: readonly [number, Fault] = [0.002, { hang: 'after' }];

export function randomChannelFaults(count: number, withTimeOuts: boolean): Fault[] {
  const table = withTimeOuts ? [...CHANNEL_FAULTS, TIME_OUT] : CHANNEL_FAULTS;
  return Array.from({ length: count }, () => {
    let random = Math.random();
    for (const [share, fault] of table) {
      random -= share;
      if (random < 0) return fault;
    }
    return {};
  });
}

type Status = Parameters<Meta['report']>[1];
const REPORT_DELAY_MAX_MS = 1500;

/** Reports the status of each accepted message late, in any order, sometimes twice, and one in twenty never. */
export function reportStatusesRandomly(meta: Meta): { stop(): Promise<void> } {
  meta.statuses = [];
  const reports = new Set<Promise<void>>();
  let seen = 0;
  const reportNew = () => {
    for (const message of meta.accepted.slice(seen)) {
      seen += 1;
      if (Math.random() < 0.05) continue;
      const statuses: Status[] = ['sent', 'delivered', ...(Math.random() < 0.3 ? (['read'] as const) : [])];
      if (Math.random() < 0.2) statuses.push(statuses[0]!);
      for (const status of statuses) {
        const report = sleep(Math.random() * REPORT_DELAY_MAX_MS)
          .then(() => meta.report(message, status))
          .finally(() => reports.delete(report));
        reports.add(report);
      }
    }
  };
  const timer = setInterval(reportNew, 50);
  return {
    async stop() {
      clearInterval(timer);
      reportNew();
      while (reports.size > 0) await Promise.all(reports);
    },
  };
}

/** How long a delivery waits at most, by what it waits for. */
export interface WaitLimits {
  retryMs: number;
  settleMs: number;
  leaseMs: number;
}

/**
 * Makes waiting deliveries due early, by changing the database from outside. Otherwise a run would wait minutes
 * for each retry, and the service has no switch for that.
 */
export function shortenWaits(
  database: Database,
  { retryMs, settleMs, leaseMs }: WaitLimits,
): { stop(): Promise<void> } {
  const makeDueAfter = (ms: number, condition: string) => {
    const before = new Date(Date.now() - ms).toISOString();
    return makeDue(database, `updated_at < '${before}' and ${condition}`);
  };
  let stopped = false;
  const running = (async () => {
    while (!stopped) {
      try {
        await makeDueAfter(retryMs, `state = 'queued' and last_code not in ('NUMBER_PACE', 'CUSTOMER_PACE')`);
        await makeDueAfter(settleMs, `state = 'sending' and unsettled_since is not null`);
        await makeDueAfter(leaseMs, `state = 'sending' and unsettled_since is null`);
      } catch {
        // The database is busy. The next round tries again.
      }
      await sleep(300);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** Makes deliveries due now. A worker looks only at the queues that are due, so their rows change as well. */
export async function makeDue(database: Database, condition: string): Promise<void> {
  const now = new Date().toISOString();
  const due = await database.run(
    `update deliveries set due_at = $1 where due_at > $1 and ${condition} returning merchant_id`,
    [now],
  );
  if (due.length === 0) return;
  // A new version, so that a worker that has just read the queue does not postpone it again.
  await database.run('update delivery_queues set due_at = $1, version = $2 where due_at > $1', [
    now,
    randomUUID(),
  ]);
}
