import type { Logger } from 'pino';
import { removeKeysReplacedBefore } from './auth/keys.ts';
import { revocationKeptMs } from './auth/sessions/revocations.ts';
import type { Config, RetentionDays } from './config.ts';
import { countBytes } from './conversations/storage.ts';
import type { Database } from './database/database.ts';
import { removeExpired } from './database/expiry.ts';
import { DAY_MS, type Kept } from './database/tables.ts';
import { removeOldEvents } from './delivery/queue/endpointEvents.ts';
import { removeOldDeliveries } from './delivery/retention.ts';
import type { Job } from './jobs/job.ts';
import { removeOldOutcomes } from './knowledge/confidence/store.ts';
import { listMerchantIds } from './merchants/store.ts';
import { removeOldNotifications } from './notifications/retention.ts';
import { TABLES } from './tables.ts';

/** One process does it for all. */
export const cleanUpRegularly = (database: Database, config: Config, log: Logger): Job => ({
  name: 'clean-up',
  purpose: 'remove what has expired',
  everyMs: 10 * 60_000,
  lease: true,
  async run(_key, { at, signal }) {
    await cleanUp(database, config, log, at, signal);
    return 'done';
  },
});

/**
 * Each table separately: if one fails, the others continue. Several processes may clean up at the same time. If it is
 * stopped, the next run does the rest.
 */
export async function cleanUp(
  database: Database,
  config: Config,
  log: Logger,
  at: Date,
  stop?: AbortSignal,
): Promise<void> {
  const { retentionDays: kept } = config;
  for (const table of TABLES) {
    for (const rows of table.kept ?? []) {
      if (stop?.aborted) return;
      const before = keptSince(rows, config, at);
      if (rows.since === undefined || before === undefined) continue;
      // A time in milliseconds has it in its name.
      const value = rows.since.endsWith('_ms') ? before.getTime() : before.toISOString();
      await removeExpired(database, table, rows, value, stop).catch((err) =>
        log.warn({ err, table: table.name }, 'cannot remove expired rows; will retry'),
      );
    }
  }
  await removeOldOutcomes(database).catch((err) =>
    log.warn({ err, table: 'recognitions' }, 'cannot remove expired rows; will retry'),
  );
  await removeOldEvents(database, kept.events, at).catch((err) =>
    log.warn({ err, table: 'deliveries' }, 'cannot remove expired rows; will retry'),
  );
  await removePerMerchant(database, kept, log, at, stop).catch((err) =>
    log.warn({ err }, 'cannot remove old notifications and messages; will retry'),
  );
  // A process may sign with a replaced key for half a minute more, so we wait five minutes.
  const unused = new Date(at.getTime() - (config.refreshTtlSeconds + 300) * 1000);
  await removeKeysReplacedBefore(database, unused).catch((err) =>
    log.warn({ err }, 'cannot remove old signing keys; will retry'),
  );
}

/** Rows that are older are removed. Undefined: none. */
function keptSince({ for: kept = 0 }: Kept, config: Config, at: Date): Date | undefined {
  if (typeof kept === 'number') return new Date(at.getTime() - kept);
  const ms =
    kept === 'accessTokens' ? revocationKeptMs(config.accessTtlSeconds) : config.retentionDays[kept] * DAY_MS;
  return ms === 0 ? undefined : new Date(at.getTime() - ms);
}

const MERCHANTS_AT_ONCE = 100;

/** One merchant after another, in small batches. Several processes may do it at the same time. */
async function removePerMerchant(
  database: Database,
  kept: RetentionDays,
  log: Logger,
  at: Date,
  stop: AbortSignal | undefined,
): Promise<void> {
  if (kept.notifications === 0 && kept.deliveries === 0) return;
  const before = (days: number) => new Date(at.getTime() - days * DAY_MS);
  for (let last = 0; ; ) {
    const merchantIds = await listMerchantIds(database, last, MERCHANTS_AT_ONCE);
    for (const merchantId of merchantIds) {
      if (stop?.aborted) return;
      try {
        if (kept.notifications > 0)
          await removeOldNotifications(database, merchantId, before(kept.notifications), stop);
        if (kept.deliveries > 0)
          await removeOldDeliveries(
            database,
            merchantId,
            before(kept.deliveries),
            (tx, bytes) => countBytes(tx, merchantId, bytes),
            stop,
          );
      } catch (err) {
        // A problem with one merchant must not stop the others.
        log.warn({ err, merchant_id: merchantId }, 'cannot remove what is old; will retry');
      }
    }
    if (merchantIds.length < MERCHANTS_AT_ONCE) return;
    last = merchantIds.at(-1)!;
  }
}
