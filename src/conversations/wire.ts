import type { MerchantId } from '../contract/ids.ts';
import type { WindowsOf } from '../delivery/channels/windows.ts';
import type { Conversation } from './store.ts';

/** What callers see of conversations. */

export async function wiresOf(windowsOf: WindowsOf, merchantId: MerchantId, rows: readonly Conversation[]) {
  const windows = await windowsOf(
    merchantId,
    rows.map(({ customer_phone }) => customer_phone),
  );
  return rows.map(({ taken_over_at, taken_over_by, ...row }, index) => ({
    ...row,
    window_open_until: windows[index]?.toISOString() ?? null,
    taken_over: takenOverOf({ taken_over_at, taken_over_by }),
  }));
}

export const takenOverOf = ({
  taken_over_at: at,
  taken_over_by: by,
}: Pick<Conversation, 'taken_over_at' | 'taken_over_by'>) => (at === null ? null : { at, by });
