import { ApiError } from './error.ts';

const CONCURRENCY = 6;

/** Runs `run` for every id, a few at a time, and waits when the rate limit says so. Returns the ids that failed. */
export async function runWithLimit(
  ids: readonly number[],
  run: (id: number) => Promise<unknown>,
): Promise<readonly number[]> {
  const queue = [...ids];
  const failedIds: number[] = [];
  const work = async () => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      try {
        await run(id);
      } catch (error) {
        if (error instanceof ApiError && error.code === 'RATE_LIMITED') {
          queue.push(id);
          await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? 1) * 1000));
        } else failedIds.push(id);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return failedIds;
}
