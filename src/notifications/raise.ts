import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import { conversationExists } from '../conversations/columns.ts';
import { type Database, inTransaction, type Transaction } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';
import { logEvents } from '../events/record.ts';
import { notificationEvent } from './event.ts';
import { KIND_COLUMNS } from './kinds.ts';

export interface NewNotification {
  merchantId: MerchantId;
  type: NotificationType;
  conversationId: number;
  contextText: string;
  at: Date;
}

/** Returns the new id, or undefined if the merchant has no such conversation. */
export function raise(
  queries: Database | Transaction,
  { merchantId, type, conversationId, contextText, at }: NewNotification,
): Promise<number | undefined> {
  return inTransaction(queries, async (tx) => {
    const [exists, [id]] = await Promise.all([
      conversationExists(tx, merchantId, conversationId),
      tx.newIds('notifications', 1),
    ]);
    if (!exists) return undefined;
    const raised = { id: id!, conversation_id: conversationId, notification_type: type };
    const time = at.toISOString();
    await insertRows(tx, 'notifications', [
      {
        ...{ merchant_id: merchantId, ...raised, ...KIND_COLUMNS[type] },
        ...{ context: contextText, created_at: time, updated_at: time },
      },
    ]);
    await logEvents(tx, merchantId, [notificationEvent(raised, 'requested', at)]);
    return id;
  });
}
