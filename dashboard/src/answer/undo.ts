import type { QueryClient } from '@tanstack/react-query';
import type { ReopenResult } from '../../../src/contract/reopen.ts';
import { calls } from '../api/calls.ts';
import { inSlices, request } from '../api/client.ts';
import type { NotificationDetail } from '../api/types.ts';
import type { Quote } from '../conversation/quote.ts';
import { setQuote } from '../conversation/quotes.ts';
import { detailKey, refreshInbox, showAsPending } from '../inbox/notifications.ts';
import { navigate } from '../shell/route.ts';
import { createStore } from '../shell/store.ts';
import { showToast } from '../shell/toasts.tsx';
import { turnOffShortcuts } from '../shortcuts/armed.ts';
import { setBeingSent } from './beingSent.ts';
import { restoreSentDraft, textsOfSentGroup } from './drafts.ts';

/** How often a draft came back. An event may have opened its form before: the form starts again, with the text. */
export const broughtBack = createStore<ReadonlyMap<number, number>>(new Map());

export function bringDraftBack(id: number, answer?: Record<string, string>): Quote | undefined {
  const quote = restoreSentDraft(id, answer);
  broughtBack.set(new Map(broughtBack.get()).set(id, (broughtBack.get().get(id) ?? 0) + 1));
  return quote;
}

/** The user may go on typing where the text came back. */
let focusAfterUndo: number | undefined;
export function takeFocusAfterUndo(id: number): boolean {
  const isFor = focusAfterUndo === id;
  if (isFor) focusAfterUndo = undefined;
  return isFor;
}

/**
 * Takes answers back while the server holds them, or reopens what was resolved without a reply. The texts and the choices
 * come back, too. A single one is opened, and so is the group whose draft is that of `draftId`.
 */
export async function undo(client: QueryClient, ids: readonly number[], draftId?: number): Promise<void> {
  const results: ReopenResult[] = [];
  // An event may open their forms before their texts are back.
  setBeingSent(ids, true);
  try {
    for (const slice of inSlices(ids))
      results.push(...(await request<{ results: ReopenResult[] }>(calls.reopenMany(slice))).results);
  } catch {
    showToast('undoFailed', { tone: 'error' });
  }
  const reopened = results.filter(({ status }) => status === 'reopened').map(({ id }) => id);
  const isOne = ids.length === 1 && draftId === undefined;
  if (isOne) {
    // The click on “Undo” was not for the shortcuts.
    turnOffShortcuts();
    [focusAfterUndo] = reopened;
  }
  for (const id of reopened) {
    const quote = bringDraftBack(id, isOne ? { ...textsOfSentGroup(id), ...answerIn(client, id) } : {});
    const item = client.getQueryData<NotificationDetail>(detailKey(id));
    if (quote && item) setQuote(item.conversation_id, quote);
  }
  if (draftId !== undefined && reopened.length > 0) bringDraftBack(draftId);
  setBeingSent(ids, false);
  showAsPending(client, reopened);
  const late = results.filter((result) => result.status === 'refused' && result.code === 'TOO_LATE');
  if (late.length > 0) showToast('tooLate', { values: { n: late.length }, tone: 'error' });
  // First, so that a group is one again when it is opened.
  const refreshed = refreshInbox(client);
  if (isOne) {
    if (results.length > 0) navigate({ page: 'inbox', id: ids[0] });
  } else if (draftId !== undefined && reopened.length > 0) {
    await refreshed;
    navigate({ page: 'inbox', id: reopened.includes(draftId) ? draftId : reopened[0] });
  }
  await refreshed;
}

/** The texts of an answer that this device did not write. */
function answerIn(client: QueryClient, id: number): Record<string, string> {
  const item = client.getQueryData<NotificationDetail>(detailKey(id));
  const answer = (item?.answer ?? {}) as Record<string, unknown>;
  const texts = (item?.answered_fields ?? []).flatMap((field) => {
    const text = answer[field];
    return typeof text === 'string' ? [[field, text] as const] : [];
  });
  return Object.fromEntries(texts);
}
