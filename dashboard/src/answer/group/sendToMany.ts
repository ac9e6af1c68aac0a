import type { QueryClient } from '@tanstack/react-query';
import type { AnswerResult } from '../../../../src/contract/groups.ts';
import { calls } from '../../api/calls.ts';
import { inSlices, request } from '../../api/client.ts';
import { isRefusal } from '../../api/error.ts';
import { DONE_CODES } from '../../inbox/bulk/many.ts';
import { detailKey, refreshInbox } from '../../inbox/notifications.ts';
import { undoSecondsOf } from '../../settings/merchant.ts';
import { createStore } from '../../shell/store.ts';
import { showToast } from '../../shell/toasts.tsx';
import { keepSentDraft, readDraft, renewKey } from '../drafts.ts';
import { undo } from '../undo.ts';

interface ManyAnswer {
  ids: readonly number[];
  answer: string;
  teach: { do: 'new' | 'nothing' };
  /** The document that the answer is from. */
  document_id?: number;
}

interface SentToMany {
  results: readonly AnswerResult[];
  /** False if the server could not be reached for the rest. */
  complete: boolean;
  /** The notifications that are being answered or taken back. */
  busy: ReadonlySet<number>;
}

/** What happened to the answer that was sent to many last, in this tab. */
export const sentToMany = createStore<SentToMany>({ results: [], complete: true, busy: new Set() });
const change = (changes: Partial<SentToMany>) => sentToMany.set({ ...sentToMany.get(), ...changes });

const busyAnd = (ids: readonly number[]) => new Set([...sentToMany.get().busy, ...ids]);
const busyWithout = (ids: readonly number[]) =>
  new Set([...sentToMany.get().busy].filter((id) => !ids.includes(id)));

/** Throws if the server cannot be reached. Sending again reaches those who are left. */
export async function sendToMany(
  client: QueryClient,
  draftId: number,
  { ids, teach, ...rest }: ManyAnswer,
  customers: number,
): Promise<void> {
  const results: AnswerResult[] = [];
  let documentId: number | null = null;
  let complete = false;
  change({ busy: busyAnd(ids) });
  const undoSeconds = await undoSecondsOf(client);
  try {
    for (const [index, slice] of inSlices(ids).entries()) {
      const reply: { results: AnswerResult[]; document_id: number | null } = await request({
        ...calls.answerMany({
          ...{ ids: slice, ...rest },
          // As long as it can be undone, there is no document yet that the others could name: it is learned once.
          teach:
            index === 0 || undoSeconds === 0 || rest.document_id !== undefined ? teach : { do: 'nothing' },
          ...(documentId === null ? {} : { document_id: documentId }),
          ...(undoSeconds > 0 ? { undo_seconds: undoSeconds } : {}),
        }),
        headers: { 'Idempotency-Key': keyOf(draftId, slice) },
      });
      documentId ??= reply.document_id;
      results.push(...reply.results);
    }
    complete = true;
    // Somebody who still waits can get the same text.
    if (!results.some((one) => one.status === 'refused' && !DONE_CODES.has(one.code)))
      keepSentDraft(draftId, undoSeconds * 1000);
    else renewKey(draftId);
    if (results.some(({ status }) => status === 'answered'))
      showSent(client, draftId, results, customers, undoSeconds);
  } catch (error) {
    if (isRefusal(error)) renewKey(draftId);
    throw error;
  } finally {
    // Shown from the list until they are loaded again: they would be shown as pending for a moment.
    for (const { id } of results) client.removeQueries({ queryKey: detailKey(id) });
    await refreshInbox(client);
    change({ results, complete, busy: busyWithout(ids) });
  }
}

/** The user may have sent another answer since: its results stay. */
const without = (results: readonly AnswerResult[]) =>
  sentToMany.get().results === results ? { results: [] } : {};

function showSent(
  client: QueryClient,
  draftId: number,
  results: readonly AnswerResult[],
  customers: number,
  undoSeconds: number,
): void {
  if (undoSeconds === 0) {
    showToast('answerSent');
    return;
  }
  const close = showToast('sentToManyIn', {
    values: { n: customers },
    durationMs: undoSeconds * 1000,
    undo() {
      close();
      const ids = results.filter(({ status }) => status === 'answered').map(({ id }) => id);
      // An event may tell that they are open again before the text is back: the form is shown after that.
      change({ busy: busyAnd(ids), ...without(results) });
      void undo(client, ids, draftId).finally(() => change({ busy: busyWithout(ids), ...without(results) }));
    },
  });
}

/** The same text to the same customers has the same key. */
function keyOf(draftId: number, ids: readonly number[]): string {
  let sum = 0;
  for (const id of ids) sum = (sum * 31 + id) % 2_147_483_647;
  return `${readDraft(draftId).key}-${ids.length}-${ids[0]}-${ids.at(-1)}-${sum}`;
}
