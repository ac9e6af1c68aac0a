import { useSyncExternalStore } from 'react';

/** From here on the list and the notification stand side by side. As in layout.css. */
const wide = matchMedia('(min-width: 900px)');
/** And from here on there is room for the telephone beside them. */
const roomy = matchMedia('(min-width: 1280px)');

function watch(query: MediaQueryList): () => boolean {
  const subscribe = (listener: () => void) => {
    query.addEventListener('change', listener);
    return () => query.removeEventListener('change', listener);
  };
  return () => useSyncExternalStore(subscribe, () => query.matches);
}

export const useWide = watch(wide);
export const useRoomy = watch(roomy);
export const isWide = (): boolean => wide.matches;
