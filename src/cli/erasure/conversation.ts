import { findPerson } from '../../conversations/person.ts';
import { findConversation } from '../../conversations/store.ts';
import { CHANGES } from '../../database/database.ts';
import { beginErasure } from '../../erasure/begin.ts';
import { customerSections } from '../../export/sections.ts';
import { command, Failure, UsageError } from '../command.ts';
import { MERCHANT, merchantOf, withDatabase } from '../database.ts';
import { count } from '../terminal.ts';
import { COMMAND_LINE, recordCommand } from '../who.ts';
import { confirm, YES } from './confirm.ts';
import { finishErasures, openEraseParts } from './erasures.ts';
import { writeExport } from './file.ts';

const idOf = (given: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(given)) throw new UsageError('ID is a number: see "conversation list".');
  return Number(given);
};

export const exportConversation = command({
  about: 'Write everything about a customer to a file',
  details:
    'Of this conversation and the merchant’s others with the same number. JSON Lines; only you can read the file.',
  arguments: ['ID', 'FILE'],
  options: { merchant: MERCHANT },
  run: ({ ID, FILE, ...given }) =>
    withDatabase(async (database) => {
      const merchant = await merchantOf(database, given.merchant);
      const ids = await findPerson(database, merchant.id, idOf(ID));
      if (ids.length === 0) throw new Failure(`${merchant.name} has no conversation ${ID}.`);
      const sections = await customerSections(database, merchant.id, ids);
      const record = () =>
        recordCommand(database, 'conversation.exported', merchant.id, { conversation_id: idOf(ID) });
      const lines = await writeExport(database, merchant.id, sections, FILE, record);
      return { text: `Wrote ${count(lines, 'line')} to ${FILE}.`, json: { lines, conversation_ids: ids } };
    }),
});

export const deleteConversation = command({
  about: 'Erase a customer',
  details: `Number, name and texts are removed everywhere, in this conversation and the merchant’s others with the same number.
If the command is interrupted, a running server or worker goes on. It takes half a minute or more.`,
  arguments: ['ID'],
  options: { merchant: MERCHANT, yes: YES },
  run: ({ ID, yes, ...given }) =>
    withDatabase(async (database, config) => {
      const merchant = await merchantOf(database, given.merchant);
      const id = idOf(ID);
      const conversation = await findConversation(database, merchant.id, id);
      if (!conversation) throw new Failure(`${merchant.name} has no conversation ${ID}.`);
      const { customer_name: name } = conversation;
      await confirm(`This erases ${name} from all data of ${merchant.name}.`, name, yes);
      const parts = await openEraseParts(database, config);
      const by = { who: COMMAND_LINE, at: new Date() };
      const ids = await database.transaction((tx) => beginErasure(tx, merchant.id, id, by));
      if (!ids) throw new Failure(`${merchant.name} has no conversation ${ID}.`);
      database.signal(CHANGES);
      await finishErasures(parts, merchant.id);
      return {
        text: `The customer is erased, with ${count(ids.length, 'conversation')}.`,
        json: { conversation_ids: ids },
      };
    }),
});
