import type { QueryClient } from '@tanstack/react-query';
import { createElement } from 'react';
import { AboutDeletion, DeletionTitle } from '../answer/DeletionQuestion.tsx';
import { removeDraft } from '../answer/drafts.ts';
import { calls } from '../api/calls.ts';
import { inSlices, request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import { askFirst } from '../shell/confirmation.ts';
import { currentRoute, navigate } from '../shell/route.ts';
import { showToast } from '../shell/toasts.tsx';
import { refreshInbox, showAsDeleted } from './notifications.ts';
import { deselect } from './view.ts';

/** Asks first: deleting cannot be undone. Returns whether it was done. */
export async function deleteNotifications(client: QueryClient, ids: readonly number[]): Promise<boolean> {
  const question = {
    title: createElement(DeletionTitle, { ids }),
    text: createElement(AboutDeletion, { ids }),
  };
  if (!(await askFirst({ ...question, action: 'delete' }))) return false;
  const left = new Set(ids);
  try {
    for (const slice of inSlices(ids)) {
      const [only, ...others] = slice;
      if (others.length > 0) await request(calls.deleteNotifications(slice));
      else await request(calls.deleteNotification(only!)).catch(ignoreNotFound);
      for (const id of slice) left.delete(id);
    }
    showToast('deleted', { values: { n: ids.length } });
  } catch {
    showToast('deleteFailed', { values: { n: left.size }, tone: 'error' });
  }
  const deleted = ids.filter((id) => !left.has(id));
  for (const id of deleted) removeDraft(id);
  deselect(deleted);
  showAsDeleted(client, deleted);
  const { page, id: openId } = currentRoute();
  if (page === 'inbox' && openId !== undefined && deleted.includes(openId))
    navigate({ page: 'inbox', id: undefined }, 'replace');
  void refreshInbox(client);
  return left.size === 0;
}
