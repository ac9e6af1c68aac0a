import { runWithLimit } from '../api/runWithLimit.ts';
import type { TextKey } from '../i18n/texts.ts';
import type { Store } from './store.ts';
import { showToast } from './toasts.tsx';

const UNDO_MS = 10_000;
/** Browsers send only a limited number of keepalive requests when a page closes. */
const KEEPALIVE_MAX = 40;

/** Items that the screen shows as resolved or deleted and that can still be undone: id and time of the action. */
export type UndoableIds = ReadonlyMap<number, string>;

interface UndoableAction {
  /** Makes the screen show the action as done. */
  shown: Store<UndoableIds>;
  run: (id: number, options: { keepalive?: boolean }) => Promise<unknown>;
  refresh: () => Promise<unknown>;
  texts: { done: TextKey; undone: TextKey; failed: TextKey };
}

/** Done on the screen, but not yet, or not completely, on the server. */
interface PendingAction {
  remainingIds: ReadonlySet<number>;
  /** Resolves when the server has processed every id. */
  runNow(): Promise<void>;
  runInBackground(): void;
  discard(): void;
}
const pendingActions = new Set<PendingAction>();

export const hasPendingActions = (): boolean => pendingActions.size > 0;

/** Before signing out: afterwards there is no token to run them with. */
export const runAllNow = async (): Promise<void> => {
  await Promise.all([...pendingActions].map((pendingAction) => pendingAction.runNow()));
};

/** When the session has ended: the next user must not run the actions of the previous one. */
export const discardAll = (): void => {
  for (const pendingAction of pendingActions) pendingAction.discard();
};

/** When the page closes, actions that were not undone are sent. */
const runAllInBackground = () => {
  for (const pendingAction of pendingActions) pendingAction.runInBackground();
};
addEventListener('pagehide', runAllInBackground);
document.addEventListener('visibilitychange', () => {
  // Phones pause hidden pages and may discard them without an event.
  if (document.hidden && matchMedia('(hover: none)').matches) runAllInBackground();
});
addEventListener('beforeunload', (event) => {
  if ([...pendingActions].some(({ remainingIds }) => remainingIds.size > KEEPALIVE_MAX))
    event.preventDefault();
});

/** Shows the action as done at once, and runs it on the server when the time to undo is over. */
export function runAfterDelay(
  requestedIds: readonly number[],
  { shown, run, refresh, texts }: UndoableAction,
): void {
  const ids = requestedIds.filter((id) => !shown.get().has(id));
  if (ids.length === 0) return;
  const at = new Date().toISOString();
  shown.set(new Map([...shown.get(), ...ids.map((id) => [id, at] as const)]));

  const remainingIds = new Set(ids);
  let running: Promise<void> | undefined;
  const endUndo = () => {
    clearTimeout(timer);
    closeToast();
  };
  const showServerState = () => {
    pendingActions.delete(pendingAction);
    const others = new Map(shown.get());
    for (const id of ids) others.delete(id);
    shown.set(others);
  };
  const showFailure = (n: number) => showToast(texts.failed, { values: { n }, tone: 'error' });
  const runOnServer = async () => {
    endUndo();
    const failedIds = await runWithLimit(ids, async (id) => {
      if (!remainingIds.has(id)) return;
      await run(id, {});
      remainingIds.delete(id);
    });
    pendingActions.delete(pendingAction);
    // Not awaited: signing out must not wait for new lists.
    void refresh().finally(showServerState);
    if (failedIds.length > 0) showFailure(failedIds.length);
  };
  const undo = () => {
    endUndo();
    showServerState();
    showToast(texts.undone);
  };

  const pendingAction: PendingAction = {
    remainingIds,
    runNow: () => (running ??= runOnServer()),
    runInBackground() {
      const sentIds = [...remainingIds].slice(0, KEEPALIVE_MAX);
      endUndo();
      for (const id of sentIds) remainingIds.delete(id);
      const requests = sentIds.map((id) => run(id, { keepalive: true }).catch(() => remainingIds.add(id)));
      // If the page comes back, it runs the rest and shows the server's state.
      void Promise.all(requests).then(pendingAction.runNow);
    },
    discard() {
      if (running) return;
      endUndo();
      showServerState();
      showFailure(ids.length);
    },
  };
  const timer = setTimeout(pendingAction.runNow, UNDO_MS);
  pendingActions.add(pendingAction);
  const closeToast = showToast(texts.done, { values: { n: ids.length }, undo, durationMs: UNDO_MS });
}
