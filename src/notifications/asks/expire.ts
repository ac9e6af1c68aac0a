import { CHANGES, type Database } from '../../database/database.ts';
import type { Job } from '../../jobs/job.ts';
import { expire } from './end.ts';
import { findExpired } from './store.ts';

const AT_ONCE = 100;

/** Ends the asks that nobody waits for any more. Any number of processes may do it: each ask expires once. */
export const expireAsks = (database: Database): Job => ({
  name: 'asks',
  purpose: 'expire asks',
  everyMs: 1000,
  async due({ at, after }) {
    // Those that have expired are no longer found.
    if (after) return [];
    const found = await findExpired(database, at, AT_ONCE);
    return found.map(({ merchant_id, id }) => ({ merchant_id, ask_id: id }));
  },
  async run({ merchant_id, ask_id }, { at }) {
    // If another process was faster, it goes on, too.
    if (!(await expire(database, merchant_id, ask_id!, at))) return 'done';
    database.signal(CHANGES);
    return 'more';
  },
});
