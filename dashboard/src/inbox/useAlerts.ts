import { useEffect, useRef } from 'react';
import type { Notification } from '../api/types.ts';
import { readPreferences, usePreferences } from '../settings/preferences.ts';
import { showToast } from '../shell/toasts.tsx';
import { playBell } from './sound.ts';

/** Plays a sound for new notifications and shows the pending count in the tab title. Returns the count. */
export function useAlerts(items: readonly Notification[] | undefined, appName: string): number {
  const { badge } = usePreferences();
  const newestId = useRef<number | undefined>(undefined);
  const count = items?.filter(({ status }) => status === 'requested').length ?? 0;

  useEffect(() => {
    document.title = badge && count > 0 ? `(${count}) ${appName}` : appName;
  }, [badge, count, appName]);

  useEffect(() => {
    if (!items) return;
    const previousId = newestId.current;
    newestId.current = items.reduce((newest, { id }) => Math.max(newest, id), previousId ?? 0);
    if (previousId === undefined) return;
    const newCount = items.filter(({ id, status }) => id > previousId && status === 'requested').length;
    if (newCount === 0) return;
    if (readPreferences().sound) playBell();
    showToast('newNotification', { values: { n: newCount } });
  }, [items]);

  return count;
}
