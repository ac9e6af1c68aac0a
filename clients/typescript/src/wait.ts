import { isTransient } from './errors.ts';
import type { Http } from './http.ts';
import { retryDelayMs, sleep } from './time.ts';
import type { AskState } from './types/asks.ts';

export interface WaitOptions {
  /** Return the state after this time, even if it is still `waiting`. Without it, wait until the question has ended. */
  timeoutSeconds?: number;
  /** Stops waiting: the call rejects with the signal's reason. */
  signal?: AbortSignal;
}

const POLL_MAX_SECONDS = 45;
/** If a server or proxy responds early, do not ask again at once. */
const POLL_EVERY_MS = 1000;

/** Polls until the question has ended or the time is over. Failures that may pass do not end it. */
export async function waitForAnswer(
  http: Http,
  id: number,
  { timeoutSeconds = Number.POSITIVE_INFINITY, signal }: WaitOptions,
): Promise<AskState> {
  const endsAt = performance.now() + timeoutSeconds * 1000;
  let last: AskState | undefined;
  for (let failures = 0; ; ) {
    const polledAt = performance.now();
    // Rounded down at the end, because a timer may fire a millisecond early: the last call must not wait again.
    const waitSeconds = Math.min(POLL_MAX_SECONDS, Math.max(0, Math.round((endsAt - polledAt) / 1000)));
    let pauseMs: number;
    try {
      last = await http.callOnce<AskState>({
        method: 'GET',
        path: `/ask/${id}`,
        query: { wait: waitSeconds },
        waitSeconds,
        signal,
      });
      if (last.status !== 'waiting') return last;
      failures = 0;
      pauseMs = polledAt + POLL_EVERY_MS - performance.now();
    } catch (error) {
      if (!isTransient(error) || (!last && performance.now() >= endsAt)) throw error;
      pauseMs = retryDelayMs(error, failures);
      failures += 1;
    }
    if (last && performance.now() >= endsAt) return last;
    await sleep(Math.max(0, Math.min(pauseMs, endsAt - performance.now())), signal);
  }
}
