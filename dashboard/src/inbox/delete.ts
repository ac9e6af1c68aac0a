import type { QueryClient } from '@tanstack/react-query';
import { createElement } from 'react';
import type { DeleteResult } from '../../../src/contract/reopen.ts';
import { AboutDeletion, DeletionTitle } from '../answer/DeletionQuestion.tsx';
import { removeDraft } from '../answer/drafts.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import { askFirst } from '../shell/confirmation.ts';
import { currentRoute, navigate } from '../shell/route.ts';
import { showToast } from '../shell/toasts.tsx';
import { removeNoteDraft } from '../team/noteDrafts.ts';
import { selectFailed, sendForMany } from './bulk/many.ts';
import { refreshInbox, showAsDeleted } from './notifications.ts';

/** Asks first: deleting cannot be undone. Returns whether it was done. */
export async function deleteNotifications(client: QueryClient, ids: readonly number[]): Promise<boolean> {
  const question = {
    title: createElement(DeletionTitle, { ids }),
    text: createElement(AboutDeletion, { ids }),
  };
  if (!(await askFirst({ ...question, action: 'delete' }))) return false;
  const { failed } = await sendForMany(ids, async (slice) => {
    const [only, ...others] = slice;
    if (others.length > 0)
      return (await request<{ results: DeleteResult[] }>(calls.deleteNotifications(slice))).results;
    await request(calls.deleteNotification(only!)).catch(ignoreNotFound);
    return [];
  });
  const deleted = ids.filter((id) => !failed.has(id));
  if (deleted.length > 0) showToast('deleted', { values: { n: deleted.length } });
  if (failed.size > 0) showToast('deleteFailed', { values: { n: failed.size }, tone: 'error' });
  for (const id of deleted) {
    removeDraft(id);
    removeNoteDraft(id);
  }
  selectFailed(ids, failed);
  showAsDeleted(client, deleted);
  const { page, id: openId } = currentRoute();
  if (page === 'inbox' && openId !== undefined && deleted.includes(openId))
    navigate({ page: 'inbox', id: undefined }, 'replace');
  void refreshInbox(client);
  return failed.size === 0;
}
