import { resolve } from 'node:path';
import { callerFolder, readConfig } from '../../config.ts';
import { postgresAddressProblem } from '../../database/address.ts';
import { move } from '../../database/copy/move.ts';
import { type Place, placeOf } from '../../database/copy/place.ts';
import { databaseExists } from '../../database/open.ts';
import { findHold, releaseSending } from '../../database/sendingHold.ts';
import { command as define, Failure, UsageError } from '../command.ts';
import { databasePlace } from '../database.ts';
import { count, openHiddenInput } from '../terminal.ts';
import { recordCommand } from '../who.ts';
import { withProgress } from './progress.ts';

export const command = define({
  about: 'Move everything to another database',
  details: `From the database of the settings to PostgreSQL (--to postgres://…) or to a folder with the embedded database
(--to sqlite:/path), or the address on standard input (--to -). All ids stay the same. Stop all servers and workers first. In the source sending is held from then on; nothing else is changed there. If it is
interrupted, run it again: it goes on. At the end it compares all tables.`,
  options: {
    to: {
      type: 'string',
      value: 'URL',
      about: 'The empty target: postgres://…, sqlite:/path, or - to read it from standard input',
      required: true,
    },
  },
  run: async ({ to: given }, { json }) => {
    const from = readConfig();
    const to = readPlace(given === '-' ? await readAddress() : given);
    if (!databaseExists(from)) throw new Failure(`There is no database in ${from.dataDir}.`);
    const sums = await withProgress(json, (onProgress) =>
      move(placeOf(from), to, {
        now: () => new Date(),
        onProgress,
        async record(database) {
          // The source may have been moved before.
          if ((await findHold(database))?.reason === 'moved') await releaseSending(database);
          await recordCommand(database, 'database.moved', null);
        },
      }),
    );
    const rows = Object.values(sums).reduce((sum, table) => sum + table.rows, 0);
    const text = [
      `Moved and compared: ${count(Object.keys(sums).length, 'table')}, ${count(rows, 'row')}, ${databasePlace({ ...from, ...to })}.`,
      ...nextSteps(to, from.secretKey === undefined ? from.secretKeyFile : undefined),
    ].join('\n');
    return { text, json: { tables: sums, rows } };
  },
});

/** A password on a command line can be seen by others on the machine, and stays in the shell's history. */
async function readAddress(): Promise<string> {
  const { ask, close } = openHiddenInput();
  try {
    return (await ask('Address of the target: ', 'No address on standard input.')).trim();
  } finally {
    close();
  }
}

function readPlace(given: string): Place {
  if (/^postgres(ql)?:\/\//.test(given)) {
    const problem = postgresAddressProblem(given);
    if (problem) throw new UsageError(`--to ${problem}`);
    return { databaseUrl: given, dataDir: '' };
  }
  const folder = given.replace(/^sqlite:(\/\/)?/, '');
  if (/^\w+:/.test(folder) || folder === '') throw new UsageError('--to is postgres://… or sqlite:/path.');
  return { databaseUrl: undefined, dataDir: resolve(callerFolder(), folder) };
}

const nextSteps = (to: Place, keyFile: string | undefined): string[] => [
  to.databaseUrl === undefined
    ? `Now set DATA_DIR=${to.dataDir}, remove DATABASE_URL, ${keyFile === undefined ? 'keep SECRET_KEY' : `copy ${keyFile} to that folder`}, and start the server.`
    : `Now set DATABASE_URL${keyFile === undefined ? '' : `, and SECRET_KEY to the content of ${keyFile}`}, and start the servers.`,
  'Do not start a server on the old database again: its messages are sent from the new one. Sending is held there.',
];
