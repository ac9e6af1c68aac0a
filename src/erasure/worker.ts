import type { MerchantId } from '../contract/ids.ts';
import { CHANGES, type Database, DatabaseUnavailable } from '../database/database.ts';
import { type Job, merchantsOf, pauseEnd } from '../jobs/job.ts';
import { findDeleting, listDeleting } from '../merchants/delete.ts';
import { AGAIN_AFTER_MS, eraseStep } from './erase.ts';
import { deleteSome } from './merchant.ts';
import { createPause, Stopped } from './pause.ts';
import { LEASE_MS, listDue, moveErasure, takeErasure } from './store.ts';
import type { ChannelsOf } from './windows.ts';

interface EraserParts {
  database: Database;
  channelsOf: ChannelsOf;
  now: () => Date;
}

const LOOK = { everyMs: 1000, wakes: [CHANGES], hidesErrors: true } as const;

/** Does what is left of every erasure, one step at a time. */
export const erasePeople = ({ database, channelsOf, now }: EraserParts): Job => ({
  ...LOOK,
  name: 'erasures',
  purpose: 'erase a person',
  // A long one does not delay the others.
  lanes: 3,
  due: async ({ at, after }) => merchantsOf(await listDue(database, at, after?.merchant_id ?? 0)),
  async run({ merchant_id: merchantId }, { at, signal, failed }) {
    const lease = { at, leaseUntil: new Date(at.getTime() + LEASE_MS) };
    const erasure = await takeErasure(database, lease, merchantId);
    if (!erasure) return 'done';
    const { id, step, createdAt } = erasure;
    const pause = createPause({ database, now }, erasure, () => signal.aborted);
    try {
      await eraseStep({ database, channelsOf, now, pause }, erasure);
    } catch (err) {
      if (err instanceof DatabaseUnavailable) throw err;
      const isStopped = err instanceof Stopped;
      if (!isStopped) failed(err, { merchant_id: merchantId, erasure_id: id, step });
      // After a stop, another process goes on at once.
      const dueAt = isStopped ? now() : pauseEnd(Date.parse(createdAt), now());
      await moveErasure(database, merchantId, id, { step, dueAt });
    }
    return 'more';
  },
});

/** Removes some batches of every merchant that is being deleted, in turn. */
export const deleteMerchants = ({ database, channelsOf, now }: EraserParts): Job => ({
  ...LOOK,
  name: 'deletions',
  purpose: 'delete a merchant',
  due: async ({ after }) =>
    after ? [] : (await listDeleting(database)).map(({ id: merchant_id }) => ({ merchant_id })),
  async run({ merchant_id: merchantId }, { signal }) {
    const merchant = await findDeleting(database, merchantId as MerchantId);
    if (!merchant) return 'done';
    const done = await deleteSome({ database, channelsOf, now, isStopped: () => signal.aborted }, merchant);
    if (done !== 'later') return done === 'more' ? 'more' : 'done';
    return new Date(Date.parse(merchant.deleting_at) + AGAIN_AFTER_MS);
  },
});
