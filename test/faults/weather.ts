import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/database/database.ts';
import { makeQueuesDue } from '../sending.ts';
import type { Fault, Meta } from '../stand-ins/meta.ts';

/** What goes wrong around the servers: the channel's moods, its reports, and time that passes faster. */

const FAULTS: readonly (readonly [share: number, fault: Fault])[] = [
  [0.03, { code: 130429 }],
  [0.03, { code: 131016, http: 500 }],
  [0.015, { http: 500 }],
  [0.015, { http: 503, text: 'upstream' }],
  [0.02, { cut: 'after' }],
  [0.01, { cut: 'before' }],
  // For good: whoever wants it sent asks for it again.
  [0.01, { code: 131026 }],
];
/** Ten seconds without an answer: for the long run alone. */
const TIME_OUT: readonly [number, Fault] = [0.002, { hang: 'after' }];

export function randomFaults(count: number, withTimeOuts: boolean): Fault[] {
  const table = withTimeOuts ? [...FAULTS, TIME_OUT] : FAULTS;
  return Array.from({ length: count }, () => {
    let luck = Math.random();
    for (const [share, fault] of table) {
      luck -= share;
      if (luck < 0) return fault;
    }
    return 'none';
  });
}

type Status = Parameters<Meta['report']>[1];
const REPORT_LATE_MAX_MS = 1500;

/** Reports each accepted message late, in any order, sometimes twice, and one in twenty never. */
export function reportAtRandom(meta: Meta): { stop(): Promise<void> } {
  meta.statuses = [];
  const reports = new Set<Promise<void>>();
  let seen = 0;
  const look = () => {
    for (const message of meta.accepted.slice(seen)) {
      seen += 1;
      if (Math.random() < 0.05) continue;
      const statuses: Status[] = ['sent', 'delivered', ...(Math.random() < 0.3 ? (['read'] as const) : [])];
      if (Math.random() < 0.2) statuses.push(statuses[0]!);
      for (const status of statuses) {
        const report = sleep(Math.random() * REPORT_LATE_MAX_MS)
          .then(() => meta.report(message, status))
          .finally(() => reports.delete(report));
        reports.add(report);
      }
    }
  };
  const timer = setInterval(look, 50);
  return {
    async stop() {
      clearInterval(timer);
      look();
      while (reports.size > 0) await Promise.all(reports);
    },
  };
}

export interface Haste {
  retryMs: number;
  settleMs: number;
  leaseMs: number;
}

/**
 * Pulls forward what waits for time alone, in the database and from outside: a run would otherwise take
 * minutes for each retry in the tail, and the program has no switch for that.
 */
export function hurry(database: Database, { retryMs, settleMs, leaseMs }: Haste): { stop(): Promise<void> } {
  const pull = (which: string, ms: number) => {
    const at = Date.now();
    return database.transaction(async (tx) => {
      const rows = await tx.run(
        `update deliveries set due_at = $1 where due_at > $1 and updated_at < $2 and ${which} returning id`,
        [new Date(at).toISOString(), new Date(at - ms).toISOString()],
      );
      if (rows.length > 0) await makeQueuesDue(tx, new Date(at));
    });
  };
  let stopped = false;
  const running = (async () => {
    while (!stopped) {
      try {
        await pull(`state = 'queued' and last_code not in ('NUMBER_PACE', 'CUSTOMER_PACE')`, retryMs);
        await pull(`state = 'sending' and unsettled_since is not null`, settleMs);
        await pull(`state = 'sending' and unsettled_since is null`, leaseMs);
      } catch {
        // The database is busy; there is a next time.
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
