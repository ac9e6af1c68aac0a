import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { unlessGone } from '../api/problem.ts';
import { createStore } from '../shell/store.ts';
import { doSoon, type Undoable } from '../shell/undo.ts';
import { dropDocumentDraft } from './drafts.ts';

/** Deleted, but still to be undone. */
export const hiddenDocuments = createStore<Undoable>(new Map());

export function removeDocumentSoon(client: QueryClient, id: number): void {
  doSoon([id], {
    shown: hiddenDocuments,
    async act(gone, options) {
      await ask(calls.deleteDocument(gone), options).catch(unlessGone);
      dropDocumentDraft(gone);
    },
    async refresh() {
      client.removeQueries({ queryKey: ['document', id] });
      await client.invalidateQueries({ queryKey: ['documents'] });
    },
    texts: { done: 'deleted', undone: 'deletedUndone', failed: 'deleteFailed' },
  });
}
