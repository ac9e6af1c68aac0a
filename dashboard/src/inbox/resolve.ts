import type { QueryClient } from '@tanstack/react-query';
import type { ResolveResult } from '../../../src/contract/reopen.ts';
import { keepSentDraft } from '../answer/drafts.ts';
import { undo } from '../answer/undo.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { undoSecondsOf } from '../settings/merchant.ts';
import { showToast } from '../shell/toasts.tsx';
import { selectFailed, sendForMany } from './bulk/many.ts';
import { refreshInbox, showAsAnswered } from './notifications.ts';

/** It can be reopened later too, with the text that the user had begun. */
const DRAFT_KEPT_MS = 24 * 60 * 60 * 1000;

/** Resolves the notifications without a reply. */
export async function resolveNotifications(client: QueryClient, ids: readonly number[]): Promise<void> {
  const undoSeconds = await undoSecondsOf(client);
  const {
    done: resolved,
    failed,
    gone,
  } = await sendForMany(
    ids,
    async (slice) =>
      (await request<{ results: ResolveResult[] }>(calls.resolveMany(slice, undoSeconds))).results,
  );
  selectFailed(ids, failed, gone);
  for (const id of resolved) keepSentDraft(id, DRAFT_KEPT_MS);
  showAsAnswered(client, resolved, { outcome: 'resolved', answer: { resolve_only: true } });
  if (resolved.length > 0) {
    const close = showToast('resolved', {
      values: { n: resolved.length },
      durationMs: Math.max(undoSeconds, RESOLVED_SHOWN_SECONDS_MIN) * 1000,
      undo() {
        close();
        void undo(client, resolved);
      },
    });
  }
  if (gone.size > 0) showToast('othersWereFaster', { values: { n: gone.size } });
  if (failed.size > 0) showToast('resolveFailed', { values: { n: failed.size }, tone: 'error' });
  await refreshInbox(client);
}

/** A resolved notification can be reopened at any time. */
const RESOLVED_SHOWN_SECONDS_MIN = 5;
