import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { InboxCounts, InboxPage } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { readPreferences, usePreferences } from '../../settings/preferences.ts';
import { showToast } from '../../shell/toasts.tsx';
import { UNFILTERED, useCounts } from '../counts.ts';
import { readView } from '../view.ts';
import { playBell } from './sound.ts';

const NEWEST_MAX = 10;

/**
 * Plays a sound and shows a toast for new notifications and when more messages need attention, and shows both counts in
 * the tab title. Returns the counts.
 */
export function useAlerts(appName: string): InboxCounts | undefined {
  const { badge } = usePreferences();
  const counts = useCounts(UNFILTERED);
  const open = counts?.open.count ?? 0;
  const attention = counts?.attention.count ?? 0;
  useEffect(() => {
    const parts = badge ? [attention > 0 && `⚠ ${attention}`, open > 0 && `(${open})`] : [];
    document.title = [...parts.filter(Boolean), appName].join(' ');
  }, [badge, open, attention, appName]);

  const { data: newest } = useQuery({
    queryKey: ['inbox', 'newest'],
    queryFn: async ({ signal }) =>
      (await request<InboxPage>(calls.inbox(readView({}), { limit: NEWEST_MAX }), { signal })).items,
  });
  const newestId = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (!newest) return;
    const previousId = newestId.current;
    newestId.current = newest.reduce((max, { id }) => Math.max(max, id), previousId ?? 0);
    if (previousId === undefined) return;
    const n = newest.filter(({ id }) => id > previousId).length;
    if (n > 0) alert('newNotification', n, 'info');
  }, [newest]);

  const lastAttention = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (!counts) return;
    const before = lastAttention.current;
    lastAttention.current = attention;
    if (before !== undefined && attention > before) alert('attentionGrew', attention, 'error');
  }, [counts, attention]);
  return counts;
}

function alert(text: 'newNotification' | 'attentionGrew', n: number, tone: 'info' | 'error'): void {
  if (readPreferences().sound) playBell();
  showToast(text, { values: { n }, tone });
}
