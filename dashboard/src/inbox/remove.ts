import type { QueryClient } from '@tanstack/react-query';
import { dropDraft } from '../answer/drafts.ts';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { unlessGone } from '../api/problem.ts';
import { doSoon } from '../shell/undo.ts';
import { refreshInbox } from './list.ts';
import { deselect, hidden } from './view.ts';

/** Gone from the list at once. */
export function removeSoon(client: QueryClient, ids: readonly number[]): void {
  deselect(ids);
  doSoon(ids, {
    shown: hidden,
    async act(id, options) {
      await ask(calls.deleteNotification(id), options).catch(unlessGone);
      dropDraft(id);
    },
    refresh: () => refreshInbox(client),
    texts: { done: 'deleted', undone: 'deletedUndone', failed: 'deleteFailed' },
  });
}
