import { findUserByEmail } from '../../auth/users.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { REVOCATIONS } from '../../database/database.ts';
import { deleteUser as remove } from '../../erasure/colleague.ts';
import { ApiError } from '../../errors.ts';
import { userSections } from '../../export/sections.ts';
import { command, Failure } from '../command.ts';
import { withDatabase } from '../database.ts';
import { count } from '../terminal.ts';
import { emailOf } from '../texts.ts';
import { COMMAND_LINE, recordCommand } from '../who.ts';
import { confirm, YES } from './confirm.ts';
import { finishErasures, openEraseParts } from './erasures.ts';
import { writeExport } from './file.ts';

export const exportUser = command({
  about: 'Write what is stored about a user to a file',
  details:
    'JSON Lines: account, sessions, devices, what the user wrote, and what the audit log has; no secrets. Only you can read the file.',
  arguments: ['EMAIL', 'FILE'],
  run: ({ EMAIL, FILE }) =>
    withDatabase(async (database) => {
      const email = emailOf(EMAIL);
      const user = await findUserByEmail(database, email);
      if (!user) throw new Failure(`There is no user ${email}.`);
      const merchantId = (user.merchant_id ?? 0) as MerchantId;
      const record = () => recordCommand(database, 'user.exported', user.merchant_id, { user_id: user.id });
      const lines = await writeExport(database, merchantId, userSections(user.id), FILE, record);
      return { text: `Wrote ${count(lines, 'line')} about ${email} to ${FILE}.`, json: { lines } };
    }),
});

export const deleteUser = command({
  about: 'Delete a user',
  details: `The user is signed out everywhere, and name, address, password and factors are removed. Histories show "A former
colleague" instead of the name. The last owner of a merchant cannot be deleted without the merchant.`,
  arguments: ['EMAIL'],
  options: { yes: YES },
  run: ({ EMAIL, yes }) =>
    withDatabase(async (database, config) => {
      const email = emailOf(EMAIL);
      const user = await findUserByEmail(database, email);
      if (!user) throw new Failure(`There is no user ${email}.`);
      const parts = await openEraseParts(database, config);
      await confirm(`This deletes ${user.name}.`, email, yes);
      try {
        const by = { who: COMMAND_LINE, at: new Date() };
        await database.transaction((tx) => remove(tx, user.id, by));
      } catch (error) {
        if (error instanceof ApiError) throw new Failure(`${error.message} Nothing was changed.`);
        throw error;
      }
      database.signal(REVOCATIONS);
      if (user.merchant_id !== null) await finishErasures(parts, user.merchant_id as MerchantId);
      return { text: `${email} is deleted.`, json: { id: user.id } };
    }),
});
