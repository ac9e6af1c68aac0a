import type { QueryClient } from '@tanstack/react-query';
import { removeDraft } from '../answer/drafts.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import { runAfterDelay } from '../shell/undo.ts';
import { refreshInbox } from './notifications.ts';
import { deselect, hidden } from './view.ts';

/** Hides the notifications at once and deletes them when the time to undo is over. */
export function deleteNotifications(client: QueryClient, ids: readonly number[]): void {
  deselect(ids);
  runAfterDelay(ids, {
    shown: hidden,
    async run(id, options) {
      await request(calls.deleteNotification(id), options).catch(ignoreNotFound);
      removeDraft(id);
    },
    refresh: () => refreshInbox(client),
    texts: { done: 'deleted', undone: 'deletedUndone', failed: 'deleteFailed' },
  });
}
