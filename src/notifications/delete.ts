import { recordEvent, type Who } from '../audit/record.ts';
import type { Author, MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { notificationNotFound } from '../errors.ts';
import { deleteNotification, lockNotification } from './store.ts';

interface DeletedBy {
  author: Author;
  who: Who;
  at: Date;
}

/** Deletes a notification permanently and writes down who did it, or throws that there is none. */
export function deleteForever(
  database: Database,
  merchantId: MerchantId,
  id: number,
  { author, who, at }: DeletedBy,
): Promise<void> {
  return database.transaction(async (tx) => {
    const found = await lockNotification(tx, { merchantId, id, author });
    if (!found) throw notificationNotFound();
    await deleteNotification(tx, found, at);
    await recordEvent(tx, {
      what: 'notification.deleted',
      ...{ merchantId, who, at },
      about: { notification_id: id },
    });
  });
}
