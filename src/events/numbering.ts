import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import type { Job } from '../jobs/job.ts';
import { numberUnread } from './log.ts';

const MERCHANTS_AT_ONCE = 100;

/** Numbers what nobody reads: each time of the next hundred merchants. */
export function numberEventsRegularly(
  database: Database,
  listMerchantIds: (after: number, limit: number) => Promise<MerchantId[]>,
): Job {
  let last = 0;
  return {
    name: 'event numbers',
    purpose: 'number events',
    everyMs: 10_000,
    async run(_key, { at }) {
      const ids = await listMerchantIds(last, MERCHANTS_AT_ONCE);
      await numberUnread(database, ids, at);
      last = ids.length < MERCHANTS_AT_ONCE ? 0 : ids.at(-1)!;
      return 'done';
    },
  };
}
