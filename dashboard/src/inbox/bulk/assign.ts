import type { QueryClient } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import { showToast } from '../../shell/toasts.tsx';
import { teamCalls } from '../../team/calls.ts';
import { changeInLists } from '../list/items.ts';
import { refreshInbox } from '../notifications.ts';
import { selectFailed } from './many.ts';

/** The server takes one at a time. */
export const ASSIGNED_TOGETHER_MAX = 100;
const CONCURRENCY = 4;

export async function assignNotifications(
  client: QueryClient,
  ids: readonly number[],
  person: { id: number; name: string } | null,
): Promise<void> {
  const queue = ids.slice(0, ASSIGNED_TOGETHER_MAX);
  const done: number[] = [];
  const failed = new Map<number, unknown>();
  const work = async () => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      try {
        await request(teamCalls.assign(id, person?.id ?? null));
        done.push(id);
      } catch (error) {
        failed.set(id, error);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  changeInLists(client, done, { assigned_to: person });
  selectFailed(ids, failed);
  if (done.length > 0)
    showToast(person ? 'assignedTo' : 'unassigned', { values: { n: done.length, name: person?.name ?? '' } });
  if (failed.size > 0) showToast('assignFailed', { values: { n: failed.size }, tone: 'error' });
  await refreshInbox(client);
}
