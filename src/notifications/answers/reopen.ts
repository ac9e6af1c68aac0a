import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Database } from '../../database/database.ts';
import { isCancelled, isPending, notificationNotFound, tooLate } from '../../errors.ts';
import { logStep } from '../../events/record.ts';
import { CANCELLED } from '../asks/end.ts';
import { waitAgainStep } from '../asks/store.ts';
import { EVENT_COLUMNS, notificationEvent } from '../event.ts';

/** Makes a notification pending again. Only one of many finds it `where` it must be. */
const reopenStep = (merchantId: MerchantId, id: number, at: Date, where: string): Step => ({
  name: 'reopened',
  rows: {
    columns: { merchant_id: 'bigint', id: 'bigint', at: 'text' },
    values: [{ merchant_id: merchantId, id, at: at.toISOString() }],
  },
  sql: `update notifications set status = 'requested', answer = null, answered_by = null, answered_by_key = null,
      undo_until = null, held = null, updated_at = r.at from reopened_rows r
    where notifications.merchant_id = r.merchant_id and notifications.id = r.id and status = 'answered' and ${where}
    returning ${EVENT_COLUMNS}`,
});
const IS_HELD = 'undo_until is not null';
const IS_RESOLVED = `undo_until is null and outcome = 'resolved' and answer <> '${CANCELLED}'`;

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
  const takenBack = await database.chain([reopenStep(merchantId, id, at, IS_HELD)], merchantId);
  if (takenBack.length > 0) return;
  const reopened = await database.chain(
    [
      reopenStep(merchantId, id, at, IS_RESOLVED),
      waitAgainStep(merchantId, id, 'reopened'),
      logStep(notificationEvent('reopened', 'reopened')),
    ],
    merchantId,
  );
  if (reopened.length > 0) return;
  const found = await database.one<{ outcome: string | null }>(
    'select outcome from notifications where merchant_id = $1 and id = $2',
    [merchantId, id],
  );
  if (!found) throw notificationNotFound();
  if (found.outcome === null) throw isPending();
  throw found.outcome === 'answered' ? tooLate() : isCancelled();
}
