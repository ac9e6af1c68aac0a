import type { Notification } from '../api/types.ts';
import { createStore } from '../shell/store.ts';
import type { Undoable } from '../shell/undo.ts';

/** Resolved, but still to be undone. */
export const resolving = createStore<Undoable>(new Map());

/** As the screen shows it meanwhile. What somebody else has answered stays as it is. */
export function asResolved<T extends Notification>(item: T, soon: Undoable): T {
  const at = soon.get(item.id);
  if (at === undefined || item.status !== 'requested') return item;
  return { ...item, status: 'answered', updated_at: at, answer: { resolve_only: true } };
}
