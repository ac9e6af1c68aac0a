import { inSlices } from '../../api/client.ts';
import { ApiError } from '../../api/error.ts';
import { failures, select, selection } from '../view.ts';

type Result = { id: number; status: string; message: string; code?: string };

/** Somebody else was faster: there is nothing left to do. */
export const DONE_CODES: ReadonlySet<string> = new Set(['ALREADY_ANSWERED', 'NOTIFICATION_NOT_FOUND']);

interface Outcome {
  done: number[];
  /** Those that can be retried, and why they were not done. */
  failed: Map<number, unknown>;
  /** Those that somebody else has answered or deleted. */
  gone: Map<number, unknown>;
}

/** One request for each hundred. Says which were done, and why the others were not. */
export async function sendForMany(
  ids: readonly number[],
  send: (slice: readonly number[]) => Promise<readonly Result[]>,
): Promise<Outcome> {
  const done: number[] = [];
  const failed = new Map<number, unknown>();
  const gone = new Map<number, unknown>();
  let error: unknown;
  for (const slice of inSlices(ids)) {
    const results = error === undefined ? await send(slice).catch(keepError) : [];
    if (error !== undefined) for (const id of slice) failed.set(id, error);
    for (const { id, status, message, code } of results) {
      if (status !== 'refused') done.push(id);
      else if (code !== undefined)
        (DONE_CODES.has(code) ? gone : failed).set(id, new ApiError({ code, status: 409, detail: message }));
    }
  }
  return { done, failed, gone };

  function keepError(thrown: unknown): readonly Result[] {
    error = thrown;
    return [];
  }
}

/** Of those that were selected, the failed ones stay selected, to try again. All that were not done show their reason. */
export function selectFailed(
  ids: readonly number[],
  failed: ReadonlyMap<number, unknown>,
  gone: ReadonlyMap<number, unknown> = new Map(),
): void {
  const tried = new Set(ids);
  const before = selection.get();
  const left = [...before].filter((id) => !tried.has(id) || failed.has(id));
  if (left.length < before.size) select(left);
  failures.set(new Map([...failed, ...gone].filter(([id]) => before.has(id))));
}
