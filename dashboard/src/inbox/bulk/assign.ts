import type { QueryClient } from '@tanstack/react-query';
import type { AssignResult } from '../../../../src/contract/reopen.ts';
import { request } from '../../api/client.ts';
import { showToast } from '../../shell/toasts.tsx';
import { teamCalls } from '../../team/calls.ts';
import { changeInLists } from '../list/items.ts';
import { refreshInbox } from '../notifications.ts';
import { selectFailed, sendForMany } from './many.ts';

export async function assignNotifications(
  client: QueryClient,
  ids: readonly number[],
  person: { id: number; name: string } | null,
): Promise<void> {
  const { done, failed, gone } = await sendForMany(ids, async (slice) => {
    const call = teamCalls.assignMany(slice, person?.id ?? null);
    return (await request<{ results: AssignResult[] }>(call)).results;
  });
  changeInLists(client, done, { assigned_to: person });
  selectFailed(ids, failed, gone);
  if (done.length > 0)
    showToast(person ? 'assignedTo' : 'unassigned', { values: { n: done.length, name: person?.name ?? '' } });
  if (failed.size > 0) showToast('assignFailed', { values: { n: failed.size }, tone: 'error' });
  if (gone.size > 0) showToast('othersWereFaster', { values: { n: gone.size } });
  await refreshInbox(client);
}
