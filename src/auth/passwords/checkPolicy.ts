import { createFairSlots, type Requester } from '../../http/limits/fairSlots.ts';
import { createThread } from '../../http/thread.ts';

/** See `passwordProblem`. */
export type CheckPolicy = (
  password: string,
  known: readonly string[],
  requester: Requester,
) => Promise<string | undefined>;

/** Checking a password takes up to a second of computing, and 70 MB. */
const passwordProblem = createThread<string | undefined>(new URL('./policyThread.ts', import.meta.url));
const THREADS_WAITING_MAX = 8;

/** Each requester has a turn: whoever repeats it waits behind the others. */
export function createCheckPolicy(): CheckPolicy {
  const withThread = createFairSlots(1, THREADS_WAITING_MAX);
  return (password, known, requester) => withThread(requester, () => passwordProblem({ password, known }));
}
