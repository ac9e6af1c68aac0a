import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { say } from '../shell/toasts.tsx';
import { inTurns } from './bulk.ts';
import { LIST_KEY } from './list.ts';
import { hidden, selection } from './view.ts';

const UNDO_MS = 10_000;
/** Browsers take a few requests along when a page is left; more would be lost. */
const KEEPALIVE_MAX = 40;

/** Gone from the list at once, from the server when the ten seconds are over. */
export function removeSoon(client: QueryClient, ids: readonly number[]): void {
  if (ids.length === 0) return;
  hidden.set(new Set([...hidden.get(), ...ids]));
  selection.set(new Set([...selection.get()].filter((id) => !ids.includes(id))));

  const bringBack = (back: readonly number[]) =>
    hidden.set(new Set([...hidden.get()].filter((id) => !back.includes(id))));
  const settle = () => {
    clearTimeout(timer);
    removeEventListener('pagehide', leave);
    takeBack();
  };
  const commit = async () => {
    settle();
    const failed = await inTurns(ids, async (id) => {
      await ask(calls.deleteNotification(id)).catch((error: unknown) => {
        // Somebody else deleted it: that is what was wanted.
        if (!(error instanceof Problem && error.status === 404)) throw error;
      });
    });
    await client.invalidateQueries({ queryKey: LIST_KEY });
    bringBack(ids);
    if (failed.length > 0) say('deleteFailed', { values: { n: failed.length }, tone: 'bad' });
  };
  const undo = () => {
    settle();
    bringBack(ids);
    say('deletedUndone');
  };
  /** Who leaves has not undone it. */
  const leave = () => {
    for (const id of ids.slice(0, KEEPALIVE_MAX)) {
      void ask(calls.deleteNotification(id), { keepalive: true }).catch(() => {});
    }
  };

  const timer = setTimeout(() => void commit(), UNDO_MS);
  addEventListener('pagehide', leave);
  const takeBack = say('deleted', { values: { n: ids.length }, undo, lastsMs: UNDO_MS });
}
