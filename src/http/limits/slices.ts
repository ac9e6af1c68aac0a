import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long one request may use the event loop before the others get their turn. */
const SLICE_MS = 5;

/**
 * Divides long work into slices: `await pause()` after each step lets other requests run, once the slice is over. A
 * step must be short itself.
 */
export function inSlices(): () => Promise<void> | undefined {
  let startedAt = performance.now();
  return () => {
    if (performance.now() - startedAt < SLICE_MS) return undefined;
    return nextTurn().then(() => {
      startedAt = performance.now();
    });
  };
}
