import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask, type Call } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import type { Notification, NotificationDetail } from '../api/types.ts';
import { asDetail, assumeAnswered, detailKey, refreshInbox } from '../inbox/list.ts';
import { createStore } from '../shell/store.ts';
import { say } from '../shell/toasts.tsx';
import { dropDraft, readDraft } from './drafts.ts';

/** Answers that were refused, until they are tried again. `first`: somebody else was faster. */
export interface Refusal {
  error: unknown;
  first: boolean;
  body: Record<string, unknown>;
}
export const refusals = createStore<ReadonlyMap<number, Refusal>>(new Map());

function setRefusal(id: number, refusal: Refusal | undefined): void {
  const next = new Map(refusals.get());
  if (refusal) next.set(id, refusal);
  else next.delete(id);
  refusals.set(next);
}

export const dismissRefusal = (id: number): void => setRefusal(id, undefined);

export const answerCall = (id: number, body: Record<string, unknown>): Call => ({
  ...calls.answer(id, body),
  headers: { 'Idempotency-Key': readDraft(id).key },
});

/** The one that was answered last from here: who wrote it is led on to what became of it. */
let lastSubmittedId: number | undefined;
export const wasJustSubmitted = (id: number): boolean => lastSubmittedId === id;

/** Felt at once: answered on the screen while it is on its way, and put back with its text if refused. */
export async function submitAnswer(
  client: QueryClient,
  item: Notification,
  body: Record<string, unknown>,
): Promise<void> {
  const { id } = item;
  setRefusal(id, undefined);
  lastSubmittedId = id;
  const putBack = assumeAnswered(client, id);
  const key = detailKey(id);
  const before = client.getQueryData<NotificationDetail>(key) ?? asDetail(item);
  void client.cancelQueries({ queryKey: key });
  client.setQueryData<NotificationDetail>(key, {
    ...before,
    status: 'answered',
    updated_at: new Date().toISOString(),
    answer: body,
  });
  try {
    await ask(answerCall(id, body));
    dropDraft(id);
    say('answerSent');
  } catch (error) {
    const first = error instanceof Problem && error.code === 'ALREADY_ANSWERED';
    if (!first) {
      client.setQueryData(key, before);
      putBack();
    }
    setRefusal(id, { error, first, body });
  }
  await refreshInbox(client);
}
