import { useEffect, useRef } from 'react';
import type { Notification } from '../api/types.ts';
import { readPreferences, usePreferences } from '../preferences/preferences.ts';
import { useStore } from '../shell/store.ts';
import { say } from '../shell/toasts.tsx';
import { ring } from './sound.ts';
import { hidden } from './view.ts';

/** A quiet sound and the count in the title, for who looks elsewhere. */
export function useAlerts(items: readonly Notification[] | undefined, appName: string): number {
  const { badge } = usePreferences();
  const newestId = useRef<number | undefined>(undefined);
  const gone = useStore(hidden);
  const count = items?.filter(({ id, status }) => status === 'requested' && !gone.has(id)).length ?? 0;

  useEffect(() => {
    document.title = badge && count > 0 ? `(${count}) ${appName}` : appName;
  }, [badge, count, appName]);

  useEffect(() => {
    if (!items) return;
    const before = newestId.current;
    newestId.current = items.reduce((newest, { id }) => Math.max(newest, id), before ?? 0);
    if (before === undefined) return;
    const fresh = items.filter(({ id, status }) => id > before && status === 'requested').length;
    if (fresh === 0) return;
    if (readPreferences().sound) ring();
    say('newNotification', { values: { n: fresh } });
  }, [items]);

  return count;
}
