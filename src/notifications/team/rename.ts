import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { pagesOf } from '../../database/pages.ts';
import { lockNotification } from '../store.ts';
import { replaceMentions } from './mentions.ts';
import { countNotes, noteBytes } from './store.ts';

/** Somebody who was deleted, and the name that histories show instead. */
export interface Former {
  userId: number;
  name: string;
  to: string;
  /** Whether nobody else of the merchant has this name. */
  isUnique: boolean;
}

/** Replaces the name where notes call somebody who was deleted. */
export async function renameInNotes(
  database: Database,
  merchantId: MerchantId,
  { userId, name, to, isUnique }: Former,
  pause: () => Promise<void>,
): Promise<void> {
  const notes = { name: 'notification_notes' };
  for await (const page of pagesOf<Note>(database, notes, merchantId, 'id, text, mentions')) {
    for (const { id, text, mentions } of page) {
      const isMentioned = (JSON.parse(mentions) as number[]).includes(userId);
      if (!text.includes('@') || !(isMentioned || isUnique)) continue;
      const renamed = replaceMentions(text, { name, to, firstNameToo: isMentioned });
      if (renamed !== text)
        await database.transaction((tx) => replaceNote(tx, merchantId, id, { from: text, to: renamed }));
      await pause();
    }
    await pause();
  }
}

interface Note {
  id: number;
  text: string;
  mentions: string;
}

async function replaceNote(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const note = await tx.one<{ notification_id: number }>(
    'select notification_id from notification_notes where merchant_id = $1 and id = $2',
    [merchantId, id],
  );
  if (!note || !(await lockNotification(tx, { merchantId, id: note.notification_id }))) return;
  const changed = await tx.run(
    'update notification_notes set text = $4 where merchant_id = $1 and id = $2 and text = $3 returning id',
    [merchantId, id, from, to],
  );
  if (changed.length === 0) return;
  await countNotes(tx, merchantId, note.notification_id, noteBytes(to) - noteBytes(from));
  // Also if both are of the same length.
  await insertRows(tx, 'inbox_changes', [{ merchant_id: merchantId, ...note }]);
}
