import type { QueryClient } from '@tanstack/react-query';
import { dropDraft } from '../answer/drafts.ts';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { Problem, unlessGone } from '../api/problem.ts';
import { doSoon } from '../shell/undo.ts';
import { refreshInbox } from './list.ts';
import { resolving } from './resolving.ts';
import { deselect } from './view.ts';

async function resolve(id: number, options: { keepalive?: boolean }): Promise<void> {
  try {
    await ask(calls.answer(id, { resolve_only: true }), options);
    dropDraft(id);
  } catch (error) {
    // Somebody else was faster: it is closed, and what they answered is shown.
    if (!(error instanceof Problem && error.code === 'ALREADY_ANSWERED')) unlessGone(error);
  }
}

/** Answered on the screen at once. */
export function resolveSoon(client: QueryClient, ids: readonly number[]): void {
  deselect(ids);
  doSoon(ids, {
    shown: resolving,
    act: resolve,
    refresh: () => refreshInbox(client),
    texts: { done: 'resolved', undone: 'resolvedUndone', failed: 'resolveFailed' },
  });
}
