import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { type Call, request } from '../api/client.ts';
import { ApiError } from '../api/error.ts';
import type { Notification, NotificationDetail } from '../api/types.ts';
import { detailKey, refreshInbox, showAsAnswered, toDetail } from '../inbox/notifications.ts';
import { createStore } from '../shell/store.ts';
import { showToast } from '../shell/toasts.tsx';
import { readDraft, removeDraft } from './drafts.ts';

/** An answer that the server rejected. It is kept until the user sends again. */
export interface Rejection {
  error: unknown;
  /** Someone else answered first. */
  alreadyAnswered: boolean;
  body: Record<string, unknown>;
}
export const rejections = createStore<ReadonlyMap<number, Rejection>>(new Map());

function setRejection(id: number, rejection: Rejection | undefined): void {
  const next = new Map(rejections.get());
  if (rejection) next.set(id, rejection);
  else next.delete(id);
  rejections.set(next);
}

export const answerCall = (id: number, body: Record<string, unknown>): Call => ({
  ...calls.answer(id, body),
  headers: { 'Idempotency-Key': readDraft(id).key },
});

const beingSent = new Set<number>();
export const isBeingSent = (id: number): boolean => beingSent.has(id);

/** The notification answered last in this tab. Its answer gets the keyboard focus. */
let lastSubmittedId: number | undefined;
export const wasJustSubmitted = (id: number): boolean => lastSubmittedId === id;

/** Shows the answer at once, before the server confirms it. If the server rejects it, the form comes back with its text. */
export async function submitAnswer(
  client: QueryClient,
  item: Notification,
  body: Record<string, unknown>,
): Promise<void> {
  const { id } = item;
  setRejection(id, undefined);
  lastSubmittedId = id;
  beingSent.add(id);
  const restore = showAsAnswered(client, id);
  const key = detailKey(id);
  const before = client.getQueryData<NotificationDetail>(key) ?? toDetail(item);
  void client.cancelQueries({ queryKey: key });
  client.setQueryData<NotificationDetail>(key, {
    ...before,
    status: 'answered',
    updated_at: new Date().toISOString(),
    answer: body,
  } as NotificationDetail);
  try {
    await request(answerCall(id, body));
    removeDraft(id);
    showToast('answerSent');
  } catch (error) {
    beingSent.delete(id);
    lastSubmittedId = undefined;
    const alreadyAnswered = error instanceof ApiError && error.code === 'ALREADY_ANSWERED';
    if (alreadyAnswered) {
      // The answer of the other person is loaded below.
      client.setQueryData(key, { ...before, status: 'answered', answer: null } as NotificationDetail);
    } else {
      client.setQueryData(key, before);
      restore();
    }
    setRejection(id, { error, alreadyAnswered, body });
  }
  beingSent.delete(id);
  await refreshInbox(client);
}
