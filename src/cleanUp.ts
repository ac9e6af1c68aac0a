import type { Logger } from 'pino';
import { expiringEvents } from './audit/store.ts';
import { EXPIRING_ATTEMPTS } from './auth/attempts.ts';
import { EXPIRING_CHALLENGES } from './auth/factors/passkeys/challenges.ts';
import { removeKeysReplacedBefore } from './auth/keys.ts';
import { EXPIRING_RESETS } from './auth/passwords/reset.ts';
import { expiringRevocations } from './auth/sessions/revocations.ts';
import { EXPIRING_SESSIONS } from './auth/sessions/store.ts';
import { EXPIRING_INVITES } from './auth/team/invites.ts';
import type { Config } from './config.ts';
import { expiringMessages } from './conversations/messages.ts';
import type { Database } from './database/database.ts';
import { removeExpired } from './database/expiry.ts';
import { EXPIRING_FORMER_CHANNELS } from './delivery/channels/settings.ts';
import { EXPIRING_UPDATES } from './delivery/channels/whatsapp/inbound.ts';
import { removeIdlePace } from './delivery/channels/whatsapp/pace.ts';
import { removeOldEvents } from './delivery/queue/endpointEvents.ts';
import { EXPIRING_EVENTS } from './events/log.ts';
import { EXPIRING_RECOGNITIONS, removeOldOutcomes } from './knowledge/confidence/store.ts';
import { EXPIRING_REMOVALS } from './knowledge/documents/removals.ts';
import { EXPIRING_MAILS } from './mail/queue.ts';
import { EXPIRING_ASKS } from './notifications/asks/store.ts';
import { EXPIRING_IDEMPOTENCY_KEYS } from './notifications/idempotency.ts';
import { EXPIRING_STATISTICS } from './notifications/progress/weeks.ts';
import { EXPIRING_PRESENCES } from './notifications/team/presence.ts';

/** Each table separately: if one fails, the others continue. Several processes may clean up at the same time. */
export async function cleanUp(database: Database, config: Config, log: Logger, at: Date): Promise<void> {
  for (const expiring of [
    ...EXPIRING_ATTEMPTS,
    ...EXPIRING_SESSIONS,
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
    EXPIRING_EVENTS,
    ...EXPIRING_UPDATES,
    EXPIRING_FORMER_CHANNELS,
    expiringEvents(config.auditRetentionDays),
    expiringMessages(config.messageRetentionDays),
  ]) {
    await removeExpired(database, expiring, at).catch((err) =>
      log.warn({ err, table: expiring.table }, 'cannot remove expired rows; will retry'),
    );
  }
  await removeIdlePace(database, at).catch((err) =>
    log.warn({ err, table: 'send_pace' }, 'cannot remove expired rows; will retry'),
  );
  await removeOldOutcomes(database).catch((err) =>
    log.warn({ err, table: 'recognitions' }, 'cannot remove expired rows; will retry'),
  );
  await removeOldEvents(database, at).catch((err) =>
    log.warn({ err, table: 'deliveries' }, 'cannot remove expired rows; will retry'),
  );
  // A process may sign with a replaced key for half a minute more, so we wait five minutes.
  const unused = new Date(at.getTime() - (config.refreshTtlSeconds + 300) * 1000);
  await removeKeysReplacedBefore(database, unused).catch((err) =>
    log.warn({ err }, 'cannot remove old signing keys; will retry'),
  );
}
