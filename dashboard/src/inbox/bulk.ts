import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { inTurns } from '../api/inTurns.ts';
import { Problem } from '../api/problem.ts';
import { say } from '../shell/toasts.tsx';
import { assumeStatus, LIST_KEY } from './list.ts';
import { selection } from './view.ts';

export async function resolveAll(client: QueryClient, ids: readonly number[]): Promise<void> {
  const putBack = assumeStatus(client, new Set(ids), 'answered');
  selection.set(new Set());
  const failed = await inTurns(ids, async (id) => {
    await ask(calls.answer(id, { resolve_only: true })).catch((error: unknown) => {
      if (!(error instanceof Problem && error.code === 'ALREADY_ANSWERED')) throw error;
    });
  });
  if (failed.length === ids.length) putBack();
  await client.invalidateQueries({ queryKey: LIST_KEY });
  await client.invalidateQueries({ queryKey: ['notification'] });
  if (failed.length > 0) say('bulkFailed', { values: { n: failed.length }, tone: 'bad' });
  if (failed.length < ids.length) say('bulkResolved', { values: { n: ids.length - failed.length } });
}
