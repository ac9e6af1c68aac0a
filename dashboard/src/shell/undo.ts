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

/** Done on the screen, and not yet, or not wholly, on the server. */
interface Unfinished {
  left: ReadonlySet<number>;
  /** Resolves when the server has done it all. */
  doNow(): Promise<void>;
  leaveToBrowser(): void;
  giveUp(): void;
}
const unfinished = new Set<Unfinished>();

/** Who signs out has not undone it, and nobody could do it afterwards. */
export const doAllNow = async (): Promise<void> => {
  await Promise.all([...unfinished].map((deed) => deed.doNow()));
};

/** Where nobody is signed in any more: whoever comes next must not do it in their own name. */
export const giveUpAll = (): void => {
  for (const deed of unfinished) deed.giveUp();
};

/** Who leaves has not undone it either. */
const leaveAll = () => {
  for (const deed of unfinished) deed.leaveToBrowser();
};
addEventListener('pagehide', leaveAll);
document.addEventListener('visibilitychange', () => {
  // A telephone stops what is out of sight, and may throw it away without a word.
  if (document.hidden && matchMedia('(hover: none)').matches) leaveAll();
});
addEventListener('beforeunload', (event) => {
  if ([...unfinished].some(({ left }) => left.size > KEEPALIVE_MAX)) event.preventDefault();
});

/** Done on the screen at once, on the server when the ten seconds are over. */
export function doSoon(given: readonly number[], { shown, act, refresh, texts }: Deed): void {
  const ids = given.filter((id) => !shown.get().has(id));
  if (ids.length === 0) return;
  const at = new Date().toISOString();
  shown.set(new Map([...shown.get(), ...ids.map((id) => [id, at] as const)]));

  const left = new Set(ids);
  let done: Promise<void> | undefined;
  const endOfUndo = () => {
    clearTimeout(timer);
    takeBack();
  };
  const showAsItIs = () => {
    unfinished.delete(deed);
    const others = new Map(shown.get());
    for (const id of ids) others.delete(id);
    shown.set(others);
  };
  const sayFailed = (n: number) => say(texts.failed, { values: { n }, tone: 'bad' });
  const carryOut = async () => {
    endOfUndo();
    const failed = await inTurns(ids, async (id) => {
      if (!left.has(id)) return;
      await act(id, {});
      left.delete(id);
    });
    unfinished.delete(deed);
    // Nobody waits for the new lists.
    void refresh().finally(showAsItIs);
    if (failed.length > 0) sayFailed(failed.length);
  };
  const undo = () => {
    endOfUndo();
    showAsItIs();
    say(texts.undone);
  };

  const deed: Unfinished = {
    left,
    doNow: () => (done ??= carryOut()),
    leaveToBrowser() {
      const taken = [...left].slice(0, KEEPALIVE_MAX);
      endOfUndo();
      for (const id of taken) left.delete(id);
      const acts = taken.map((id) => act(id, { keepalive: true }).catch(() => left.add(id)));
      // A page that comes back does what is left, and shows how things are.
      void Promise.all(acts).then(deed.doNow);
    },
    giveUp() {
      if (done) return;
      endOfUndo();
      showAsItIs();
      sayFailed(ids.length);
    },
  };
  const timer = setTimeout(deed.doNow, UNDO_MS);
  unfinished.add(deed);
  const takeBack = say(texts.done, { values: { n: ids.length }, undo, lastsMs: UNDO_MS });
}
