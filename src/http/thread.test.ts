import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../errors.ts';
import { runInThread } from './thread.ts';

const script = (code: string) =>
  new URL(`data:text/javascript,${encodeURIComponent(`import w from 'node:worker_threads'; ${code}`)}`);

describe('work in a thread', () => {
  it('returns its message, also an undefined one', async () => {
    assert.equal(await runInThread(script('w.parentPort.postMessage(w.workerData + 1)'), 2), 3);
    assert.equal(await runInThread(script('w.parentPort.postMessage(undefined)'), 2), undefined);
  });

  for (const [how, code] of [
    ['ends without a result', 'process.exit(0)'],
    ['crashes', `throw new Error('broken')`],
    ['cannot start', 'this is no JavaScript'],
  ]) {
    it(`is a failure of the server if the thread ${how}`, async () => {
      await assert.rejects(runInThread(script(code!), undefined), (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.code, 'SERVICE_UNAVAILABLE');
        assert.ok(error.cause instanceof Error);
        return true;
      });
    });
  }
});
