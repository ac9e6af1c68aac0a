import { type RefObject, useLayoutEffect, useRef } from 'react';
import { historyEntry } from './route.ts';
import { useStore } from './store.ts';

const STORAGE_KEY = 'deskbell.scroll';
const POSITIONS_MAX = 100;

/** Scroll positions by entry of the history and list, oldest first. In this tab they survive a reload. */
const positions = new Map<string, number>(readStored());

function readStored(): [string, number][] {
  try {
    return JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? '[]') as [string, number][];
  } catch {
    return [];
  }
}

addEventListener('pagehide', () => {
  try {
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify([...positions].slice(-POSITIONS_MAX)));
  } catch {
    // Storage is blocked: after a reload the list starts at its top.
  }
});

/**
 * Back and Forward show a list where it was. Another list, for example that of another tab, starts at its top. `list`
 * names what the list shows; `ready` is false until it has its rows. Returns the position to start with.
 */
export function useScrollMemory(
  scroller: RefObject<HTMLElement | null>,
  { list, ready = true }: { list: string; ready?: boolean },
): number {
  const { entry, isRevisited } = useStore(historyEntry);
  const key = `${entry} ${list}`;
  const shownList = useRef(list);
  const start = isRevisited ? (positions.get(key) ?? 0) : 0;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !ready) return;
    const saved = positions.get(`${entry} ${list}`);
    if (isRevisited && saved !== undefined) element.scrollTop = saved;
    else if (shownList.current !== list) element.scrollTop = 0;
    shownList.current = list;
  }, [entry, list, isRevisited, ready, scroller]);

  // A layout effect, because it ends while the list still has its position: the last scroll may have had no event yet.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !ready) return;
    const save = () => {
      positions.delete(key);
      positions.set(key, element.scrollTop);
    };
    // Where it is now counts, even if nobody scrolls it.
    save();
    element.addEventListener('scroll', save, { passive: true });
    return () => {
      save();
      element.removeEventListener('scroll', save);
    };
  }, [key, ready, scroller]);
  return start;
}
