import { inTurns } from '../api/inTurns.ts';
import type { TextKey } from '../i18n/texts.ts';
import type { Store } from './store.ts';
import { say } from './toasts.tsx';

const UNDO_MS = 10_000;
/** Browsers take a few requests along when a page is left; more would be lost. */
const KEEPALIVE_MAX = 40;

/** What the screen shows as done and can still be undone: each id, and since when. */
export type Undoable = ReadonlyMap<number, string>;

interface Deed {
  shown: Store<Undoable>;
  act: (id: number, options: { keepalive?: boolean }) => Promise<unknown>;
  refresh: () => Promise<unknown>;
  texts: { done: TextKey; undone: TextKey; failed: TextKey };
}

const waiting = new Set<() => Promise<void>>();

/** Who signs out has not undone it, and nobody could do it afterwards. */
export const doAllNow = async (): Promise<void> => {
  await Promise.all([...waiting].map((commit) => commit()));
};

/** Done on the screen at once, on the server when the ten seconds are over. */
export function doSoon(given: readonly number[], { shown, act, refresh, texts }: Deed): void {
  const ids = given.filter((id) => !shown.get().has(id));
  if (ids.length === 0) return;
  const at = new Date().toISOString();
  shown.set(new Map([...shown.get(), ...ids.map((id) => [id, at] as const)]));

  const showAsItIs = () => {
    const left = new Map(shown.get());
    for (const id of ids) left.delete(id);
    shown.set(left);
  };
  const settle = () => {
    clearTimeout(timer);
    removeEventListener('pagehide', leave);
    waiting.delete(commit);
    takeBack();
  };
  const commit = async () => {
    settle();
    const failed = await inTurns(ids, (id) => act(id, {}));
    await refresh();
    showAsItIs();
    if (failed.length > 0) say(texts.failed, { values: { n: failed.length }, tone: 'bad' });
  };
  const undo = () => {
    settle();
    showAsItIs();
    say(texts.undone);
  };
  /** Who leaves has not undone it. */
  const leave = () => {
    for (const id of ids.slice(0, KEEPALIVE_MAX)) void act(id, { keepalive: true }).catch(() => {});
  };

  const timer = setTimeout(() => void commit(), UNDO_MS);
  addEventListener('pagehide', leave);
  waiting.add(commit);
  const takeBack = say(texts.done, { values: { n: ids.length }, undo, lastsMs: UNDO_MS });
}
