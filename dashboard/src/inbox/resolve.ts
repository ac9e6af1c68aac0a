import type { QueryClient } from '@tanstack/react-query';
import { removeDraft } from '../answer/drafts.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ApiError, ignoreNotFound } from '../api/error.ts';
import { runAfterDelay } from '../shell/undo.ts';
import { refreshInbox } from './notifications.ts';
import { pendingResolves } from './pendingResolves.ts';
import { deselect } from './view.ts';

async function resolve(id: number, options: { keepalive?: boolean }): Promise<void> {
  try {
    await request(calls.answer(id, { resolve_only: true }), options);
    removeDraft(id);
  } catch (error) {
    // Someone else answered first: it is closed already, and their answer is shown.
    if (!(error instanceof ApiError && error.code === 'ALREADY_ANSWERED')) ignoreNotFound(error);
  }
}

/** Shows the notifications as answered at once and resolves them when the time to undo is over. */
export function resolveNotifications(client: QueryClient, ids: readonly number[]): void {
  deselect(ids);
  runAfterDelay(ids, {
    shown: pendingResolves,
    run: resolve,
    refresh: () => refreshInbox(client),
    texts: { done: 'resolved', undone: 'resolvedUndone', failed: 'resolveFailed' },
  });
}
