import { resolve } from 'node:path';
import { callerFolder } from '../../config.ts';
import { backUp } from '../../database/copy/backup.ts';
import { placeOf } from '../../database/copy/place.ts';
import { VERSION } from '../../version.ts';
import { command as define } from '../command.ts';
import { withBareDatabase } from '../database.ts';
import { count, megabytes } from '../terminal.ts';
import { recordCommand } from '../who.ts';
import { findKey, fingerprintsOf, keysText } from './key.ts';
import { withProgress } from './progress.ts';

const NOT_RECORDED = '\nThe audit log could not be written: this backup is not in it.';

export const command = define({
  about: 'Back up the database into a file',
  details: `Servers and workers can go on: the file has everything as it was at one moment. It is an SQLite database, also for
PostgreSQL, and can be restored into both. It appears when it is complete and checked. The secret key is not in it.`,
  arguments: ['FILE'],
  run: async ({ FILE }, { json }) => {
    const file = resolve(callerFolder(), FILE);
    const { config, key } = await withBareDatabase(async (database, config) => ({
      config,
      key: await findKey(database, config),
    }));
    const { tables, leftOut, ...info } = await withProgress(json, (onProgress) =>
      backUp(placeOf(config), file, {
        keys: fingerprintsOf(key),
        version: VERSION,
        now: () => new Date(),
        onProgress,
      }),
    );
    // A database that cannot be written can still be backed up.
    const isRecorded = await withBareDatabase((database) =>
      recordCommand(database, 'database.backed_up', null),
    ).then(
      () => true,
      () => false,
    );
    const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0);
    const keep = key.fits
      ? `The secret key is not in it. Keep ${key.place} in another place: a restore needs ${keysText(info.keys)}.`
      : key.fingerprint === undefined && !key.isNeeded
        ? 'It needs no secret key: nothing is encrypted yet. The first start of the server creates the key.'
        : `The secret key is not in it, and ${key.place} ${key.fingerprint === undefined ? 'does not exist' : 'is not the key of this database'}. Keep the right one in another place.`;
    const both = key.previousFingerprint
      ? '\nSECRET_KEY is being changed: keep SECRET_KEY_PREVIOUS, too, until you have a backup from after the change.'
      : '';
    const rest =
      leftOut.length > 0
        ? `\nNot in it, because this version of Deskbell does not know it: ${leftOut.join(', ')}.`
        : '';
    const size = `${megabytes(info.bytes)}, ${count(Object.keys(tables).length, 'table')}, ${count(rows, 'row')}`;
    return {
      text: `Backup written and checked: ${file} (${size}).\n${keep}${both}${rest}${isRecorded ? '' : NOT_RECORDED}`,
      json: { file, ...info, rows, tables, left_out: leftOut },
    };
  },
});
