import type { Notification } from '../api/types.ts';
import { createStore } from '../shell/store.ts';
import type { UndoableIds } from '../shell/undo.ts';

/** Resolved on the screen; can still be undone. */
export const pendingResolves = createStore<UndoableIds>(new Map());

/** Shows a pending notification as resolved. One that someone else has answered stays unchanged. */
export function showResolved<T extends Notification>(item: T, pendingResolveIds: UndoableIds): T {
  const at = pendingResolveIds.get(item.id);
  if (at === undefined || item.status !== 'requested') return item;
  return { ...item, status: 'answered', updated_at: at, answer: { resolve_only: true } };
}
