import type { QueryClient } from '@tanstack/react-query';
import type { ReopenResult } from '../../../../src/contract/reopen.ts';
import { setBeingSent } from '../../answer/beingSent.ts';
import { bringDraftBack } from '../../answer/undo.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { showToast } from '../../shell/toasts.tsx';
import { refreshInbox, showAsPending } from '../notifications.ts';
import { selectFailed, sendForMany } from './many.ts';

/** Puts back into the inbox what was resolved without a reply. */
export async function reopenNotifications(client: QueryClient, ids: readonly number[]): Promise<void> {
  // An event may open their forms before their texts are back.
  setBeingSent(ids, true);
  const { done, failed } = await sendForMany(
    ids,
    async (slice) => (await request<{ results: ReopenResult[] }>(calls.reopenMany(slice))).results,
  );
  for (const id of done) bringDraftBack(id);
  setBeingSent(ids, false);
  showAsPending(client, done);
  selectFailed(ids, failed);
  if (done.length > 0) showToast('reopenedMany', { values: { n: done.length } });
  if (failed.size > 0) showToast('reopenFailed', { values: { n: failed.size }, tone: 'error' });
  await refreshInbox(client);
}
