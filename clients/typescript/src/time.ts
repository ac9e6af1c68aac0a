import type { DeskbellError } from './errors.ts';

const DELAY_FIRST_MS = 250;
const DELAY_MAX_MS = 15_000;

/** How long to wait before the next try: longer each time, never the same for two clients, at least `Retry-After`. */
export function retryDelayMs(error: DeskbellError, failures: number): number {
  const longest = Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** failures);
  return (error.retryAfterSeconds ?? 0) * 1000 + longest * (0.5 + Math.random() / 2);
}

/** Rejects with the signal's reason when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** A signal that is aborted with the caller's, or when the time is over. Call `end` when it is no longer used. */
export interface TimeLimit {
  signal: AbortSignal;
  /** Starts to count, from zero. */
  start(): void;
  pause(): void;
  end(): void;
}

export function limitTime(ms: number, outer?: AbortSignal): TimeLimit {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => controller.abort(outer!.reason);
  const expire = () => controller.abort(new Error(`no response within ${Math.round(ms / 1000)} s`));
  const pause = () => clearTimeout(timer);
  const start = () => {
    pause();
    timer = setTimeout(expire, ms);
  };
  if (outer?.aborted) stop();
  outer?.addEventListener('abort', stop, { once: true });
  start();
  return {
    signal: controller.signal,
    start,
    pause,
    end() {
      pause();
      outer?.removeEventListener('abort', stop);
    },
  };
}
