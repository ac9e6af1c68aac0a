import type { QueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { AnswerDone } from '../../../src/contract/notificationWrites.ts';
import { calls } from '../api/calls.ts';
import { type Call, request } from '../api/client.ts';
import { ApiError, isRefusal } from '../api/error.ts';
import type { Notification } from '../api/types.ts';
import { quotes, setQuote } from '../conversation/quotes.ts';
import { detailKey, refreshInbox, showAsAnswered } from '../inbox/notifications.ts';
import { session } from '../session/session.ts';
import { undoSecondsOf } from '../settings/merchant.ts';
import { createStore } from '../shell/store.ts';
import { showToast } from '../shell/toasts.tsx';
import { isBeingSent, setBeingSent } from './beingSent.ts';
import { keepSentDraft, readDraft, renewKey } from './drafts.ts';
import { undo } from './undo.ts';

/** An answer that the server rejected. It is kept until the user sends again. */
export interface Rejection {
  error: unknown;
  /** Someone else answered first. */
  alreadyAnswered: boolean;
}
export const rejections = createStore<ReadonlyMap<number, Rejection>>(new Map());

function setRejection(id: number, rejection: Rejection | undefined): void {
  const next = new Map(rejections.get());
  if (rejection) next.set(id, rejection);
  else next.delete(id);
  rejections.set(next);
}

/** Another quote is another answer. */
const keyOf = (id: number, { reply_to }: Record<string, unknown>): string =>
  [readDraft(id).key, ...(typeof reply_to === 'string' ? [reply_to] : [])].join('-');

export const answerCall = (id: number, body: Record<string, unknown>): Call => ({
  ...calls.answer(id, body),
  headers: { 'Idempotency-Key': keyOf(id, body) },
});

const UNDO_MAX_MS = 60_000;

/** Its draft is no longer one. Undoing brings it back. */
export function afterSending(id: number): void {
  if (isBeingSent(id)) return;
  setRejection(id, undefined);
  keepSentDraft(id, UNDO_MAX_MS);
}

/** The notification answered last in this tab. Its answer gets the keyboard focus. */
let lastSubmittedId: number | undefined;
export const wasJustSubmitted = (id: number): boolean => lastSubmittedId === id;

/**
 * Returns whether the server has the answer. It sends it when it can no longer be undone, also if this tab is closed. If
 * it refuses the answer, the form keeps its text.
 */
export async function submitAnswer(
  client: QueryClient,
  item: Notification,
  toSend: Record<string, unknown> | Promise<Record<string, unknown>>,
  customer: string,
): Promise<boolean> {
  const { id } = item;
  if (isBeingSent(id)) return false;
  setRejection(id, undefined);
  setBeingSent([id], true);
  const [body, undoSeconds] = await Promise.all([toSend, undoSecondsOf(client)]);
  try {
    const call = answerCall(id, undoSeconds > 0 ? { ...body, undo_seconds: undoSeconds } : body);
    const { undo_until = null } = await request<Static<typeof AnswerDone>>(call);
    const quote = body.reply_to === undefined ? undefined : quotes.get().get(item.conversation_id);
    keepSentDraft(id, undoSeconds * 1000, quote);
    if (quote) setQuote(item.conversation_id, undefined);
    lastSubmittedId = id;
    const user = session.get();
    showAsAnswered(client, [id], {
      ...{ answer: answerOf(item, body), outcome: 'answered', undo_until },
      answered_by: user.status === 'signedIn' ? user.user.name : null,
    });
    showSent(client, id, customer, undoSeconds);
    return true;
  } catch (error) {
    const alreadyAnswered = error instanceof ApiError && error.code === 'ALREADY_ANSWERED';
    // The answer of the other person is loaded below.
    if (alreadyAnswered) showAsAnswered(client, [id], { answer: null });
    if (isRefusal(error)) renewKey(id);
    setRejection(id, { error, alreadyAnswered });
    return false;
  } finally {
    setBeingSent([id], false);
    void client.invalidateQueries({ queryKey: detailKey(id) });
    void refreshInbox(client);
  }
}

function showSent(client: QueryClient, id: number, name: string, undoSeconds: number): void {
  if (undoSeconds === 0) {
    showToast('answerSent');
    return;
  }
  const close = showToast('sentIn', {
    values: { name },
    durationMs: undoSeconds * 1000,
    undo() {
      close();
      void undo(client, [id]);
    },
  });
}

const answerOf = ({ answered_fields }: Notification, body: Record<string, unknown>) =>
  Object.fromEntries(answered_fields.map((field) => [field, body[field]]));
