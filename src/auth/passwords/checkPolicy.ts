import { createFairSlots, type Requester } from '../../http/limits/fairSlots.ts';
import { runInThread } from '../../http/thread.ts';

/** See `passwordProblem`. */
export type CheckPolicy = (
  password: string,
  known: readonly string[],
  requester: Requester,
) => Promise<string | undefined>;

/** Checking a password takes a second of computing and 70 MB, so it has a thread, which ends afterwards. */
const THREAD = new URL('./policyThread.ts', import.meta.url);
const THREADS_WAITING_MAX = 8;

/** Each requester has a turn: whoever repeats it waits behind the others. */
export function createCheckPolicy(): CheckPolicy {
  const withThread = createFairSlots(1, THREADS_WAITING_MAX);
  return (password, known, requester) =>
    withThread(requester, () => runInThread<string | undefined>(THREAD, { password, known }));
}
