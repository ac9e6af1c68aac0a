import { useSyncExternalStore } from 'react';

/** Wide enough for the list and the notification side by side. Keep in sync with layout.css. */
const wide = matchMedia('(min-width: 900px)');
/** Wide enough for the test phone next to them. */
const extraWide = matchMedia('(min-width: 1280px)');

function watch(query: MediaQueryList): () => boolean {
  const subscribe = (listener: () => void) => {
    query.addEventListener('change', listener);
    return () => query.removeEventListener('change', listener);
  };
  return () => useSyncExternalStore(subscribe, () => query.matches);
}

export const useWide = watch(wide);
export const useExtraWide = watch(extraWide);
export const isWide = (): boolean => wide.matches;
