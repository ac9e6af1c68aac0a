import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import { createStore } from '../shell/store.ts';
import { runAfterDelay, type UndoableIds } from '../shell/undo.ts';

/** Removed on the screen; can still be undone. */
export const hiddenWordings = createStore<UndoableIds>(new Map());

export function removeWording(client: QueryClient, documentId: number, id: number): void {
  runAfterDelay([id], {
    shown: hiddenWordings,
    run: (wordingId, options) =>
      request(calls.removeWording(documentId, wordingId), options).catch(ignoreNotFound),
    async refresh() {
      await client.invalidateQueries({ queryKey: ['document', documentId] });
      await client.invalidateQueries({ queryKey: ['documents'] });
    },
    texts: { done: 'wordingRemoved', undone: 'wordingRemovedUndone', failed: 'wordingRemoveFailed' },
  });
}
