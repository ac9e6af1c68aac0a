import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../contract/ids.ts';
import { REVOCATIONS } from '../../database/database.ts';
import { beginDeletion, deleteSome } from '../../erasure/merchant.ts';
import { EXPORT_SECTIONS } from '../../export/sections.ts';
import { findDeleting } from '../../merchants/delete.ts';
import { findMerchant, type Merchant } from '../../merchants/store.ts';
import { command, Failure, PROGRAM, UsageError } from '../command.ts';
import { withDatabase } from '../database.ts';
import { count, createProgress, noticeWait } from '../terminal.ts';
import { COMMAND_LINE, recordCommand } from '../who.ts';
import { confirm, YES } from './confirm.ts';
import { openEraseParts } from './erasures.ts';
import { writeExport } from './file.ts';

const LOOK_EVERY_MS = 200;

const idOf = (given: string): MerchantId => {
  if (!/^[1-9]\d{0,14}$/.test(given)) throw new UsageError('ID is a number: see "merchant list".');
  return Number(given) as MerchantId;
};
const found = (merchant: Merchant | undefined, id: number): Merchant => {
  if (!merchant) throw new Failure(`There is no merchant ${id}. "${PROGRAM} merchant list" shows them.`);
  return merchant;
};

export const exportMerchant = command({
  about: 'Write everything of a merchant to a file',
  details: 'The same as the export of the API: JSON Lines, without secrets. Only you can read the file.',
  arguments: ['ID', 'FILE'],
  run: ({ ID, FILE }) =>
    withDatabase(async (database) => {
      const id = idOf(ID);
      const { name } = found(await findMerchant(database, id), id);
      const record = () => recordCommand(database, 'merchant.exported', id);
      const lines = await writeExport(database, id, EXPORT_SECTIONS, FILE, record);
      return { text: `Wrote ${count(lines, 'line')} of ${name} to ${FILE}.`, json: { lines } };
    }),
});

export const deleteMerchant = command({
  about: 'Delete a merchant and everything that it has',
  details: `First nobody can sign in any more, no key works and nothing is sent. Then everything is removed, in small steps. If
the command is interrupted, a running server or worker goes on, or the same command does. It takes half a minute or more.`,
  arguments: ['ID'],
  options: { yes: YES },
  run: ({ ID, yes }, { json }) =>
    withDatabase(async (database, config) => {
      const id = idOf(ID);
      // Its name may be removed already.
      const name = found(await findMerchant(database, id), id).name || `merchant ${id}`;
      const erase = await openEraseParts(database, config);
      await confirm(`This deletes ${name} with all its users, customers and documents.`, name, yes);
      const by = { who: COMMAND_LINE, at: new Date() };
      // False if it is being deleted already: then this goes on with it.
      await database.transaction((tx) => beginDeletion(tx, id, by));
      database.signal(REVOCATIONS);
      const progress = createProgress({ bar: process.stderr.isTTY === true && !json });
      const notice = noticeWait(
        'What is being sent at this moment must end first. This takes about half a minute …',
      );
      const removed: Record<string, number> = {};
      const onRemoved = (table: string, rows: number) => {
        if (rows > 0) removed[table] = (removed[table] ?? 0) + rows;
        progress.show(`${count(totalOf(removed), 'row')} removed`, undefined);
      };
      const parts = { ...erase, isStopped: () => false, onRemoved };
      for (let due = await findDeleting(database, id); due; due = await findDeleting(database, id))
        if ((await deleteSome(parts, due)) === 'later') {
          notice();
          await sleep(LOOK_EVERY_MS);
        }
      progress.end();
      const tables = Object.entries(removed).map(
        ([table, rows]) => `\n  ${table}: ${rows.toLocaleString('en')}`,
      );
      return {
        text: `${name} is deleted. Removed rows:${tables.join('') || ' none'}`,
        json: { id, removed },
      };
    }),
});

const totalOf = (removed: Record<string, number>) =>
  Object.values(removed).reduce((sum, rows) => sum + rows, 0);
