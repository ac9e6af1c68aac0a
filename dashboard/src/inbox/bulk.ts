import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { say } from '../shell/toasts.tsx';
import { assumeStatus, LIST_KEY } from './list.ts';
import { selection } from './view.ts';

const AT_ONCE = 6;

/** A few at a time; a server that asks for patience gets it. Gives the ids that failed. */
export async function inTurns(
  ids: readonly number[],
  act: (id: number) => Promise<unknown>,
): Promise<readonly number[]> {
  const waiting = [...ids];
  const failed: number[] = [];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await act(id);
      } catch (error) {
        if (error instanceof Problem && error.code === 'RATE_LIMITED') {
          waiting.push(id);
          await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? 1) * 1000));
        } else failed.push(id);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failed;
}

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
