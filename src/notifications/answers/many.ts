import { ApiError, isFailure } from '../../errors.ts';
import { inSlices } from '../../http/limits/slices.ts';

export interface RefusedResult {
  id: number;
  status: 'refused';
  message: string;
  code: string;
}

/**
 * Does the same to one notification after another, each in its own transaction. A refusal concerns only its own
 * notification. A failure ends the call, and a repeated call goes on with the rest.
 */
export async function forEach<Done>(
  ids: readonly number[],
  work: (id: number) => Promise<Done>,
): Promise<(Done | RefusedResult)[]> {
  const results: (Done | RefusedResult)[] = [];
  const pause = inSlices();
  for (const id of ids) {
    try {
      results.push(await work(id));
    } catch (error) {
      if (!(error instanceof ApiError) || isFailure(error.code)) throw error;
      results.push({ id, status: 'refused', message: error.message, code: error.code });
    }
    await pause();
  }
  return results;
}
