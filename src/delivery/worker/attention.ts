import type { MerchantId } from '../../contract/ids.ts';
import { CHANGES, type Database, DatabaseUnavailable } from '../../database/database.ts';
import type { Job, Run } from '../../jobs/job.ts';
import { WAITING_MAX_MS } from '../attention.ts';
import type { Channels } from '../channels/merchantChannels.ts';
import { listUnnoticed, notice, type Unnoticed } from '../queue/noticed.ts';
import { listChannelStops } from './stops.ts';

/** Reports messages that begin to need attention: those that have waited for long, and those of a stopped channel. */

interface AttentionParts {
  database: Database;
  channels: Channels;
}

const AT_ONCE = 500;
/** In one transaction. */
const OF_A_MERCHANT = 100;

export function noticeAttention({ database, channels }: AttentionParts): Job {
  /** A problem with one merchant must not stop the others. */
  async function noticeAll(
    merchantId: MerchantId,
    ids: readonly number[],
    kind: 'waiting' | 'stopped',
    { at, failed }: Run,
  ): Promise<number> {
    let count = 0;
    try {
      for (let from = 0; from < ids.length; from += OF_A_MERCHANT)
        count += await notice(database, merchantId, ids.slice(from, from + OF_A_MERCHANT), kind, at);
    } catch (err) {
      if (err instanceof DatabaseUnavailable) throw err;
      failed(err, { merchant_id: merchantId });
    }
    return count;
  }

  /** Those that have waited since `until` or longer and, of them, those of these merchants. */
  async function look(
    until: string,
    kind: 'waiting' | 'stopped',
    run: Run,
    isAbout: (merchantId: MerchantId) => Promise<boolean>,
  ): Promise<number> {
    let count = 0;
    let after: Pick<Unnoticed, 'since' | 'id'> = { since: '', id: 0 };
    for (;;) {
      const found = await listUnnoticed(database, { after, until, limit: AT_ONCE });
      // What is being sent is not stopped.
      const concerned = found.filter(({ state }) => kind === 'waiting' || state !== 'sending');
      for (const [merchantId, messages] of Map.groupBy(concerned, ({ merchant_id }) => merchant_id)) {
        if (!(await isAbout(merchantId))) continue;
        const ids = messages.map(({ id }) => id);
        count += await noticeAll(merchantId, ids, kind, run);
      }
      if (found.length < AT_ONCE) return count;
      after = found.at(-1)!;
    }
  }

  return {
    name: 'attention',
    purpose: 'report messages that wait',
    everyMs: 1000,
    async run(_key, run) {
      const { at } = run;
      const stopped = new Set(
        (await listChannelStops(database, at))
          .filter(({ kind }) => kind === 'refused')
          .map(({ channel_id }) => channel_id),
      );
      const isStopped = async (merchantId: MerchantId) => stopped.has((await channels.of(merchantId)).id);
      let count = 0;
      // First, because the reason of a message that has waited for long may be that its channel is stopped.
      if (stopped.size > 0) count += await look(at.toISOString(), 'stopped', run, isStopped);
      const longAgo = new Date(at.getTime() - WAITING_MAX_MS).toISOString();
      count += await look(longAgo, 'waiting', run, async () => true);
      if (count === 0) return 'done';
      database.signal(CHANGES);
      return 'more';
    },
  };
}
