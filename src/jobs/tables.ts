import { DAY_MS, server, type Table } from '../database/tables.ts';

export const JOB_TABLES: readonly Table[] = [
  {
    ...server('job_leases', 'job key', 'job key holder until failing_since'),
    // Nobody has worked there for a day.
    kept: [{ since: 'until', for: DAY_MS }],
  },
];
