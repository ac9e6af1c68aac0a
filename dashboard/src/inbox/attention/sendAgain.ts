import type { QueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { SentAgain } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { showToast } from '../../shell/toasts.tsx';
import { refreshInbox } from '../notifications.ts';

type Result = Static<typeof SentAgain>;

/** Puts one failed message, or all of them, back into the queue. */
export async function sendAgain(client: QueryClient, which: number | 'all'): Promise<void> {
  let queued = 0;
  let skipped = 0;
  try {
    if (which === 'all') {
      for (let done: Result | undefined; !done || done.more; ) {
        done = await request<Result>(calls.sendAgain({ all: true, after_id: done?.after_id ?? 0 }));
        queued += done.count;
        skipped += done.skipped;
      }
    } else {
      const done = await request<Result>(calls.sendAgain({ ids: [which] }));
      queued = done.count;
      skipped = done.skipped;
    }
    if (queued > 0) showToast('sentAgain', { values: { n: queued } });
    if (skipped > 0) showToast('sentAgainSkipped', { values: { n: skipped }, tone: 'error' });
    if (queued + skipped === 0) showToast('sentAgainNone');
  } catch {
    showToast('errorServer', { tone: 'error' });
  }
  await refreshInbox(client);
}
