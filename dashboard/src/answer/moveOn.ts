import { type RefObject, useEffect, useRef } from 'react';
import { currentRoute, navigate } from '../shell/route.ts';
import { turnOffShortcuts } from '../shortcuts/armed.ts';

/** The notification that was opened because the one before is done. */
let movedTo: number | undefined;
let movedAt = Number.NEGATIVE_INFINITY;
/** A second click, or a click that was meant for the question before, comes within this time. */
const CLICKS_IGNORED_MS = 800;

/** Whether a click may still be meant for the question before. */
export const hasJustMoved = (): boolean => performance.now() - movedAt < CLICKS_IGNORED_MS;

/**
 * Opens the next notification after the answer to `id` was sent, unless the user has opened something else meanwhile.
 * What the user types now was not meant for it: shortcuts are off, and no field has the focus.
 */
export function moveOn(id: number, next: number | undefined): void {
  const route = currentRoute();
  if (route.page !== 'inbox' || route.id !== id || next === undefined) return;
  turnOffShortcuts();
  movedTo = next;
  movedAt = performance.now();
  navigate({ page: 'inbox', id: next }, 'replace');
}

/** The heading of the next notification gets the focus, so that screen readers continue there. */
export function useFocusAfterMove(id: number): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (movedTo !== id) return;
    movedTo = undefined;
    heading.current?.focus({ preventScroll: true });
  }, [id]);
  return heading;
}
