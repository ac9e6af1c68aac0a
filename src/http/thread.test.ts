import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../errors.ts';
import { createThread } from './thread.ts';

const THREAD = new URL('./thread.ts', import.meta.url);
/** A thread that answers jobs so. The rest of the code runs before. */
const script = (answer: string, code = '') =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`import { answerJobs } from '${THREAD}'; ${code}; answerJobs(${answer})`)}`,
  );

describe('work in a thread', () => {
  it('does several jobs, of several callers, with what it has loaded once', async () => {
    const run = createThread<string>(script('(data) => data + ++count', 'let count = 0'));
    const together = await Promise.all([run('a'), run('b')]);
    assert.deepEqual(together.sort(), ['a1', 'b2']);
    assert.equal(await run('c'), 'c3');
    assert.equal(await createThread(script('() => undefined'))(''), undefined);
  });

  it('ends when it was not needed for a while, and starts again', async () => {
    const run = createThread<number>(script('() => ++count', 'let count = 0'), 50);
    assert.equal(await run(''), 1);
    for (let result = 2; result !== 1; ) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      result = await run('');
    }
  });

  for (const [how, answer, code] of [
    ['ends without a result', '() => process.exit(0)', ''],
    ['crashes', `() => { throw new Error('broken') }`, ''],
    ['cannot start', '', 'this is no JavaScript'],
  ]) {
    it(`is a failure of the server if the thread ${how}, for all who wait`, async () => {
      const run = createThread(script(answer!, code));
      for (const result of await Promise.allSettled([run(''), run(''), run('')])) {
        assert.ok(result.status === 'rejected' && result.reason instanceof ApiError);
        assert.equal(result.reason.code, 'SERVICE_UNAVAILABLE');
        assert.ok(result.reason.cause instanceof Error);
      }
    });
  }
});
