import { Problem } from './problem.ts';

const AT_ONCE = 6;

/** A few at a time; a server that asks for patience gets it. Gives the ids that failed. */
export async function inTurns(
  ids: readonly number[],
  act: (id: number) => Promise<unknown>,
): Promise<readonly number[]> {
  const waiting = [...ids];
  const failed: number[] = [];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await act(id);
      } catch (error) {
        if (error instanceof Problem && error.code === 'RATE_LIMITED') {
          waiting.push(id);
          await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? 1) * 1000));
        } else failed.push(id);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failed;
}
