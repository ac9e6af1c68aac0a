import { useEffect, useState } from 'react';
import { createStore, useStore } from './store.ts';

const TICK_MS = 10_000;
const clock = createStore(Date.now());
setInterval(() => clock.set(Date.now()), TICK_MS);
// Show the right times as soon as the tab is visible again.
document.addEventListener('visibilitychange', () => clock.set(Date.now()));

/** The current time for texts like "3 min ago". All components share one timer. */
export const useNow = (): number => useStore(clock);

const COUNT_DOWN_MS = 250;
const secondsUntil = (until: number) => Math.max(0, Math.ceil((until - Date.now()) / 1000));

/** Counts down to 0. */
export function useSecondsLeft(until: number): number {
  const [seconds, setSeconds] = useState(() => secondsUntil(until));
  useEffect(() => {
    const timer = setInterval(() => setSeconds(secondsUntil(until)), COUNT_DOWN_MS);
    return () => clearInterval(timer);
  }, [until]);
  return seconds;
}
