import type { MerchantId } from '../../contract/ids.ts';
import { defineChange } from '../../database/chain.ts';
import type { Database } from '../../database/database.ts';
import { isCancelled, isPending, notificationNotFound, tooLate } from '../../errors.ts';
import { eventsStep } from '../../events/record.ts';
import { CANCELLED } from '../asks/end.ts';
import { waitAgainStep } from '../asks/store.ts';
import { notificationEvent, type Told } from '../event.ts';

/** Makes a notification pending again. Only one of many finds it `where` it must be. */
const reopenedIf = (where: string) =>
  defineChange({
    do: 'update',
    table: 'notifications',
    columns: { merchant_id: 'bigint', id: 'bigint', at: 'text' },
    set: `status = 'requested', answer = null, answered_by = null, answered_by_key = null, undo_until = null,
      held = null, updated_at = r.at`,
    where: `notifications.id = r.id and notifications.status = 'answered' and ${where}`,
  });
const HELD = reopenedIf('undo_until is not null');
const RESOLVED = reopenedIf(`undo_until is null and outcome = 'resolved' and answer <> '${CANCELLED}'`);

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
  const values = [{ merchant_id: merchantId, id, at: at.toISOString() }];
  const takenBack = await database.chain({ gate: { shape: HELD, values }, steps: [] }, merchantId);
  if (takenBack.length > 0) return;
  const found = await findTold(database, merchantId, id);
  if (!found) throw notificationNotFound();
  const resolved = await database.chain(
    {
      gate: { shape: RESOLVED, values },
      steps: [
        waitAgainStep(merchantId, id),
        eventsStep(merchantId, [notificationEvent(found, 'reopened', at)]),
      ],
    },
    merchantId,
  );
  if (resolved.length > 0) return;
  // Somebody else may have reopened it since.
  const now = await findTold(database, merchantId, id);
  if (!now) throw notificationNotFound();
  if (now.outcome === null) throw isPending();
  throw now.outcome === 'answered' ? tooLate() : isCancelled();
}

const findTold = (database: Database, merchantId: MerchantId, id: number) =>
  database.one<Told & { outcome: string | null }>(
    'select id, conversation_id, notification_type, outcome from notifications where merchant_id = $1 and id = $2',
    [merchantId, id],
  );
