import type { MerchantId } from '../contract/ids.ts';
import { CHANGES, type Database, type Transaction } from '../database/database.ts';
import type { Job, JobKey } from '../jobs/job.ts';
import { type LoggedEvent, lastPosition, numberBatch, readEvents } from './log.ts';

/** Something that reads a merchant's events from a position of its own: a webhook endpoint, or the alerts. */
interface Follower {
  position: number;
  /** How many events it can take now. */
  room: number;
  take(read: readonly LoggedEvent[]): Promise<Taken> | Taken;
  /** Only from its position. False if another worker was faster, or it is turned off or gone. */
  move(tx: Transaction, to: number): Promise<boolean>;
  /** What else it does when it takes no new events. Returns whether there may be more of it. */
  otherwise?(): Promise<boolean>;
}

interface Taken {
  /** As many of the first ones as fit into one transaction. */
  events: readonly LoggedEvent[];
  write(tx: Transaction): Promise<void>;
}

interface Followers {
  name: string;
  purpose: string;
  database: Database;
  /** The next ones that are turned on and have something to do. */
  listDue(after: JobKey | undefined): Promise<readonly JobKey[]>;
  find(key: JobKey): Promise<Follower | undefined>;
}

const EVENTS_AT_ONCE = 100;

/** Shows new events to everybody who follows them. What records an event pays nothing for it. */
export const followEvents = ({ database, listDue, find, ...names }: Followers): Job => ({
  ...names,
  everyMs: 2000,
  // Every change may have written events.
  wakes: [CHANGES],
  gatherMs: 20,
  due: ({ after }) => listDue(after),
  async run(key) {
    const merchantId: MerchantId = key.merchant_id;
    await numberBatch(database, merchantId);
    // Read before the events: whatever is up to it can be seen here.
    const last = await lastPosition(database, merchantId);
    const one = await find(key);
    if (!one) return 'done';
    const { position, room } = one;
    if (last <= position || room <= 0) return (await one.otherwise?.()) ? 'more' : 'done';
    const limit = Math.min(EVENTS_AT_ONCE, room);
    const { events, write } = await one.take(
      await readEvents(database, merchantId, { after: position, limit }),
    );
    // Without any, those up to `last` have been removed by now. Later ones may have been added meanwhile.
    const to = events.at(-1)?.id ?? last;
    await database.transaction(async (tx) => {
      if (await one.move(tx, to)) await write(tx);
    });
    return events.length > 0 ? 'more' : 'done';
  },
});
