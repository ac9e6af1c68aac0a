import { connection } from '../api/events.ts';
import { createStore, useStore } from './store.ts';

/** A short break is not worth a notice. */
const NOTICE_AFTER_MS = 3000;

/** Since when there is no connection, if there was one before. */
const lostAt = createStore<string | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;
let last = connection.get();

connection.subscribe(() => {
  const state = connection.get();
  if (state === 'live') {
    clearTimeout(timer);
    lostAt.set(undefined);
  } else if (last === 'live') {
    const at = new Date().toISOString();
    timer = setTimeout(() => lostAt.set(at), NOTICE_AFTER_MS);
  }
  last = state;
});

export const useLostAt = (): string | undefined => useStore(lostAt);
