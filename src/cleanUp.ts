import type { Logger } from 'pino';
import { expiringEvents as expiringAudit } from './audit/store.ts';
import { EXPIRING_ATTEMPTS } from './auth/attempts.ts';
import { EXPIRING_CHALLENGES } from './auth/factors/passkeys/challenges.ts';
import { removeKeysReplacedBefore } from './auth/keys.ts';
import { EXPIRING_RESETS } from './auth/passwords/reset.ts';
import { expiringRevocations } from './auth/sessions/revocations.ts';
import { expiringSessions } from './auth/sessions/store.ts';
import { EXPIRING_INVITES } from './auth/team/invites.ts';
import type { Config, RetentionDays } from './config.ts';
import type { MerchantId } from './contract/ids.ts';
import { bytesOfSent, expiringMessages } from './conversations/messages.ts';
import { countBytes } from './conversations/storage.ts';
import type { Database } from './database/database.ts';
import { type Expiring, removeExpired } from './database/expiry.ts';
import { EXPIRING_FORMER_CHANNELS } from './delivery/channels/settings.ts';
import { EXPIRING_UPDATES } from './delivery/channels/whatsapp/inbound.ts';
import { removeIdlePace } from './delivery/channels/whatsapp/pace.ts';
import { removeOldEvents } from './delivery/queue/endpointEvents.ts';
import { EXPIRING_REACHED, removeOldDeliveries, type StoredTexts } from './delivery/retention.ts';
import { expiringEvents } from './events/log.ts';
import type { Job } from './jobs/job.ts';
import { EXPIRING_LEASES } from './jobs/leases.ts';
import { EXPIRING_RECOGNITIONS, removeOldOutcomes } from './knowledge/confidence/store.ts';
import { EXPIRING_REMOVALS } from './knowledge/documents/removals.ts';
import { EXPIRING_MAILS } from './mail/queue.ts';
import { listMerchantIds } from './merchants/store.ts';
import { EXPIRING_ASKS } from './notifications/asks/store.ts';
import { EXPIRING_IDEMPOTENCY_KEYS } from './notifications/idempotency.ts';
import { EXPIRING_STATISTICS } from './notifications/progress/weeks.ts';
import { removeOldNotifications } from './notifications/retention.ts';
import { EXPIRING_PRESENCES } from './notifications/team/presence.ts';

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
  for (const expiring of [
    ...EXPIRING_ATTEMPTS,
    ...expiringSessions(kept.sessions),
    EXPIRING_CHALLENGES,
    EXPIRING_INVITES,
    EXPIRING_RESETS,
    EXPIRING_MAILS,
    expiringRevocations(config.accessTtlSeconds),
    EXPIRING_IDEMPOTENCY_KEYS,
    EXPIRING_ASKS,
    EXPIRING_PRESENCES,
    EXPIRING_RECOGNITIONS,
    ...EXPIRING_STATISTICS,
    EXPIRING_REMOVALS,
    expiringEvents(kept.events),
    EXPIRING_REACHED,
    ...EXPIRING_UPDATES,
    EXPIRING_FORMER_CHANNELS,
    EXPIRING_LEASES,
    ...unlessForEver(kept.audit, expiringAudit),
    ...unlessForEver(kept.messages, expiringMessages),
  ]) {
    if (stop?.aborted) return;
    await removeExpired(database, expiring, at, stop).catch((err) =>
      log.warn({ err, table: expiring.table }, 'cannot remove expired rows; will retry'),
    );
  }
  await removeIdlePace(database, at).catch((err) =>
    log.warn({ err, table: 'send_pace' }, 'cannot remove expired rows; will retry'),
  );
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

/** What a merchant has stored, without the messages that are removed. */
const storageOf = (merchantId: MerchantId): StoredTexts => ({
  lock: (tx) => countBytes(tx, merchantId, 0),
  remove: (tx, texts) => countBytes(tx, merchantId, -texts.reduce((sum, text) => sum + bytesOfSent(text), 0)),
});

const unlessForEver = (days: number, expiring: (days: number) => Expiring): Expiring[] =>
  days === 0 ? [] : [expiring(days)];

const DAY_MS = 24 * 60 * 60_000;
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
            storageOf(merchantId),
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
