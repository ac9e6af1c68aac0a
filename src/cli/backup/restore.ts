import { resolve } from 'node:path';
import { removeAllResets } from '../../auth/passwords/reset.ts';
import { endAllSessions } from '../../auth/sessions/store.ts';
import { callerFolder, readConfig } from '../../config.ts';
import type { BackupInfo } from '../../database/copy/backupFile.ts';
import { placeOf } from '../../database/copy/place.ts';
import { restore } from '../../database/copy/restore.ts';
import type { Database } from '../../database/database.ts';
import { findHold, holdSending } from '../../database/sendingHold.ts';
import { mostOpen } from '../../delivery/queue/state.ts';
import { skipPositions } from '../../events/log.ts';
import { listMerchantIds } from '../../merchants/store.ts';
import { command as define, Failure, PROGRAM } from '../command.ts';
import { databasePlace, withDatabase } from '../database.ts';
import { recordCommand } from '../who.ts';
import { findKey, keysText, type OwnKey } from './key.ts';
import { withProgress } from './progress.ts';
import { countToSend, mostOpenText, toSendText } from './toSend.ts';

export const command = define({
  about: 'Restore a backup into an empty database',
  details: `Into the database of the settings, on either engine. It must be empty, and no server may use it. Everybody has to sign in
again. Nothing is sent until "delivery release", because much of it may have been sent after the backup was made.`,
  arguments: ['FILE'],
  run: async ({ FILE }, { json }) => {
    const file = resolve(callerFolder(), FILE);
    const config = readConfig();
    const info = await withProgress(json, (onProgress) =>
      restore(placeOf(config), file, { now: () => new Date(), onProgress, prepare }),
    );
    const { key, waiting, most } = await withDatabase(async (database) => ({
      key: await findKey(database, config),
      waiting: await countToSend(database),
      most: await mostOpen(database, MERCHANTS_NAMED),
    }));
    const from = info ? `the backup of ${info.made_at}` : 'a copy that has no checksums';
    const lines = [
      `Restored ${from}: ${databasePlace(config)}.`,
      keyText(key, info),
      `Everybody has to sign in again. Whatever was revoked after the backup works again: check users and keys.`,
      `Sending is held. Waiting: ${toSendText(waiting)}.${mostOpenText(most)} Some of it may have been sent after the backup was made.`,
      `"${PROGRAM} delivery list --state queued" shows the messages. Start the server, cancel what must not be sent again, then run "${PROGRAM} delivery release".`,
    ];
    return {
      text: lines.join('\n'),
      json: {
        ...{ file, made_at: info?.made_at ?? null, key, waiting },
        most: most.map(({ merchantId, messages }) => ({ merchant_id: merchantId, messages })),
      },
    };
  },
});

/**
 * Of each merchant's event log. The lost database may have given these positions to events that somebody has read. Far
 * below the number of events that a log keeps, because it removes the oldest.
 */
const POSITIONS_SKIPPED = 20_000;
const MERCHANTS_AT_ONCE = 1000;
/** With the most messages to send. */
const MERCHANTS_NAMED = 3;

/** What must not go on as if nothing had happened. */
async function prepare(database: Database, info: BackupInfo | undefined): Promise<void> {
  const at = new Date();
  // First: from here on nothing can be sent.
  await holdSending(database, {
    held_at: at.toISOString(),
    reason: 'restored',
    backup_made_at: info?.made_at ?? null,
    key_fingerprint: info?.keys.join(' ') || null,
  });
  // A file that somebody has prepared may have triggers.
  if (!(await findHold(database)))
    throw new Failure('Sending cannot be held: this file is not from "backup".');
  // Sessions that ended after the backup, and links that were used after it, would work again.
  await endAllSessions(database, at);
  await removeAllResets(database);
  for (let last = 0; ; ) {
    const ids = await listMerchantIds(database, last, MERCHANTS_AT_ONCE);
    if (ids.length > 0) await skipPositions(database, ids, POSITIONS_SKIPPED);
    if (ids.length < MERCHANTS_AT_ONCE) break;
    last = ids.at(-1)!;
  }
  await recordCommand(database, 'database.restored', null);
}

function keyText({ place, fingerprint, fits }: OwnKey, info: BackupInfo | undefined): string {
  if (fits) return `The secret key in ${place} fits.`;
  const needed = info?.keys.length ? keysText(info.keys) : 'the secret key of its database';
  return `This backup needs ${needed}: ${
    fingerprint === undefined ? `${place} is missing` : `${place} has the fingerprint ${fingerprint}`
  }. Set what is missing before you start the server.`;
}
