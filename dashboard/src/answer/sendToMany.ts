import type { QueryClient } from '@tanstack/react-query';
import type { AnswerResult } from '../../../src/contract/groups.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { detailKey, refreshInbox } from '../inbox/notifications.ts';
import { createStore } from '../shell/store.ts';
import { showToast } from '../shell/toasts.tsx';
import { readDraft, removeDraft } from './drafts.ts';

/** What the server takes in one call. */
const ANSWERED_TOGETHER_MAX = 100;

/** Refusals of those who wait no longer. */
const DONE_CODES: ReadonlySet<string> = new Set(['ALREADY_ANSWERED', 'NOTIFICATION_NOT_FOUND']);

interface ManyAnswer {
  ids: readonly number[];
  answer: string;
  teach: boolean;
  /** The document that the answer is from. */
  document_id?: number;
}

interface SentToMany {
  results: readonly AnswerResult[];
  /** False if the server could not be reached for the rest. */
  complete: boolean;
  sending: boolean;
}

/** What happened to the answer that was sent to many last, in this tab. */
export const sentToMany = createStore<SentToMany>({ results: [], complete: true, sending: false });

/** Throws if the server cannot be reached. Sending again reaches those who are left. */
export async function sendToMany(
  client: QueryClient,
  draftId: number,
  { ids, ...rest }: ManyAnswer,
): Promise<void> {
  const results: AnswerResult[] = [];
  let documentId: number | null = null;
  let complete = false;
  sentToMany.set({ ...sentToMany.get(), sending: true });
  try {
    for (let from = 0; from < ids.length; from += ANSWERED_TOGETHER_MAX) {
      const slice = ids.slice(from, from + ANSWERED_TOGETHER_MAX);
      const reply: { results: AnswerResult[]; document_id: number | null } = await request({
        ...calls.answerMany({
          ...{ ids: slice, ...rest },
          ...(documentId === null ? {} : { document_id: documentId }),
        }),
        headers: { 'Idempotency-Key': keyOf(draftId, slice) },
      });
      documentId ??= reply.document_id;
      results.push(...reply.results);
    }
    complete = true;
    // Somebody who still waits can get the same text.
    if (!results.some((one) => one.status === 'refused' && !DONE_CODES.has(one.code))) removeDraft(draftId);
    if (results.some(({ status }) => status === 'answered')) showToast('answerSent');
  } finally {
    // Shown from the list until they are loaded again: they would be shown as pending for a moment.
    for (const { id } of results) client.removeQueries({ queryKey: detailKey(id) });
    await refreshInbox(client);
    sentToMany.set({ results, complete, sending: false });
  }
}

/** The same text to the same customers has the same key. */
function keyOf(draftId: number, ids: readonly number[]): string {
  let sum = 0;
  for (const id of ids) sum = (sum * 31 + id) % 2_147_483_647;
  return `${readDraft(draftId).key}-${ids.length}-${ids[0]}-${ids.at(-1)}-${sum}`;
}
