import { type RefObject, useEffect, useRef } from 'react';

/** In the middle, because bars at the edges could cover it. */
export function focusInView(element: HTMLElement | null | undefined): void {
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block: 'center' });
}

/** Focuses the element whenever `reason` changes to something other than undefined or false. */
export function useFocusWhen<E extends HTMLElement>(reason: unknown): RefObject<E | null> {
  const element = useRef<E>(null);
  useEffect(() => {
    if (reason === undefined || reason === false) return;
    focusInView(element.current);
  }, [reason]);
  return element;
}

/**
 * A button loses the focus while it is loading. Call the returned function when the work starts: the focus comes back
 * when it ends, unless something else has it by then.
 */
export function useKeptFocus(isBusy: boolean): () => void {
  const before = useRef<Element>(null);
  useEffect(() => {
    if (isBusy || !(before.current instanceof HTMLElement)) return;
    if (document.activeElement === document.body) before.current.focus();
    before.current = null;
  }, [isBusy]);
  return () => {
    before.current = document.activeElement;
  };
}
