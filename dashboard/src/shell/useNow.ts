import { createStore, useStore } from './store.ts';

const TICK_MS = 10_000;
const clock = createStore(Date.now());
setInterval(() => clock.set(Date.now()), TICK_MS);
// Show the right times as soon as the tab is visible again.
document.addEventListener('visibilitychange', () => clock.set(Date.now()));

/** The current time for texts like "3 min ago". All components share one timer. */
export const useNow = (): number => useStore(clock);
