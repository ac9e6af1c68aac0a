import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import { createStore } from '../shell/store.ts';
import { runAfterDelay, type UndoableIds } from '../shell/undo.ts';
import { removeDocumentDraft } from './drafts.ts';

/** Deleted on the screen; can still be undone. */
export const hiddenDocuments = createStore<UndoableIds>(new Map());

export function deleteDocument(client: QueryClient, id: number): void {
  runAfterDelay([id], {
    shown: hiddenDocuments,
    async run(documentId, options) {
      await request(calls.deleteDocument(documentId), options).catch(ignoreNotFound);
      removeDocumentDraft(documentId);
    },
    async refresh() {
      client.removeQueries({ queryKey: ['document', id] });
      await client.invalidateQueries({ queryKey: ['documents'] });
    },
    texts: { done: 'deleted', undone: 'deletedUndone', failed: 'deleteFailed' },
  });
}
