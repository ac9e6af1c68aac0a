import { createStore, useStore } from './store.ts';

const TICK_MS = 10_000;
const clock = createStore(Date.now());
setInterval(() => clock.set(Date.now()), TICK_MS);
// A tab that slept shows the right times at once.
document.addEventListener('visibilitychange', () => clock.set(Date.now()));

/** The time, for everything that says "ago": one clock for the whole window. */
export const useNow = (): number => useStore(clock);
