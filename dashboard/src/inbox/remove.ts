import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { unlessGone } from '../api/problem.ts';
import { doSoon } from '../shell/undo.ts';
import { LIST_KEY } from './list.ts';
import { deselect, hidden } from './view.ts';

/** Gone from the list at once. */
export function removeSoon(client: QueryClient, ids: readonly number[]): void {
  deselect(ids);
  doSoon(ids, {
    shown: hidden,
    act: (id, options) => ask(calls.deleteNotification(id), options).catch(unlessGone),
    refresh: () => client.invalidateQueries({ queryKey: LIST_KEY }),
    texts: { done: 'deleted', undone: 'deletedUndone', failed: 'deleteFailed' },
  });
}
