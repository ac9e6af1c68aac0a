import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { createLookup } from '../database/lookup.ts';
import { readOfMerchants } from '../database/ofMerchants.ts';

/** The state of a merchant's inbox. */
export interface Inbox {
  /** Changes with every change to one of the merchant's notifications. */
  version: string;
  /** At least the size of the list of all notifications, and of those that are pending. */
  bytes: number;
  pending_bytes: number;
}

export function createFindInbox(queries: Queries): (merchantId: MerchantId) => Promise<Inbox> {
  const find = createLookup<Inbox & { merchant_id: MerchantId }>(
    queries,
    'select merchant_id, version, bytes, pending_bytes from inboxes',
    'merchant_id',
  );
  return async (merchantId) => (await find(merchantId)) ?? EMPTY_INBOX;
}
export const NO_VERSION = 'empty';
const EMPTY_INBOX: Inbox = { version: NO_VERSION, bytes: 0, pending_bytes: 0 };

/** SQL: what a merchant's notifications count towards its storage allowance. */
export const inboxBytes = (merchantId: string) =>
  `coalesce((select bytes from inboxes where merchant_id = ${merchantId}), 0)`;

/** The versions of many merchants' inboxes, and of who looks at them, for their subscribers. A merchant that never had a notification is absent. */
export async function readInboxVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, { inbox: string; presence: string }>> {
  const rows = await readOfMerchants<{ merchant_id: MerchantId; version: string; presence: string }>(
    queries,
    merchantIds,
    (isTheirs) => `select merchant_id, version, presence from inboxes where ${isTheirs}`,
  );
  return new Map(
    rows.map(({ merchant_id, version, presence }) => [merchant_id, { inbox: version, presence }]),
  );
}

export async function readInboxVersion(
  queries: Pick<Queries, 'one'>,
  merchantId: MerchantId,
): Promise<string> {
  const row = await queries.one<{ version: string }>('select version from inboxes where merchant_id = $1', [
    merchantId,
  ]);
  return row?.version ?? NO_VERSION;
}

/** What a notification takes besides its context and its answer. The triggers count with the same number. */
export const ROW_BYTES = 400;
