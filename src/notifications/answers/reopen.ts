import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Queries } from '../../database/database.ts';
import { isCancelled, isPending, notificationNotFound, tooLate } from '../../errors.ts';
import { logEvents } from '../../events/record.ts';
import { CANCELLED } from '../asks/end.ts';
import { reopenAsk } from '../asks/store.ts';
import { notificationEvent, type Told } from '../event.ts';

/**
 * Takes an answer back while it is held: nobody has heard of it. Or reopens a notification that was resolved without a
 * reply. Throws if it is too late or if there is nothing to reopen.
 */
export async function reopen(
  database: Database,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<void> {
  if (await markRequested(database, merchantId, id, { at, where: 'undo_until is not null' })) return;
  const isReopened = await database.transaction(async (tx) => {
    const reopened = await markRequested(tx, merchantId, id, {
      at,
      where: `undo_until is null and outcome = 'resolved' and answer <> '${CANCELLED}'`,
    });
    if (!reopened) return false;
    await reopenAsk(tx, merchantId, id);
    await logEvents(tx, merchantId, [notificationEvent(reopened, 'reopened', at)]);
    return true;
  });
  if (isReopened) return;
  const now = await database.one<{ outcome: string | null }>(
    'select outcome from notifications where merchant_id = $1 and id = $2',
    [merchantId, id],
  );
  if (!now) throw notificationNotFound();
  if (now.outcome === null) throw isPending();
  throw now.outcome === 'answered' ? tooLate() : isCancelled();
}

/** Makes a notification pending again. Only one of many finds it `where` it must be. */
async function markRequested(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  { at, where }: { at: Date; where: string },
): Promise<Told | undefined> {
  const [row] = await queries.run<Told>(
    `update notifications set status = 'requested', answer = null, answered_by = null, answered_by_key = null,
        undo_until = null, held = null, updated_at = $3
      where merchant_id = $1 and id = $2 and status = 'answered' and ${where}
      returning id, conversation_id, notification_type`,
    [merchantId, id, at.toISOString()],
  );
  return row;
}
