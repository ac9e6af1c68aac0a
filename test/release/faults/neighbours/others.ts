import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Serving } from '../../../support/process.ts';

/** What another merchant's people notice during an attack. */
export interface OthersFigures {
  requests: number;
  failed: number;
  longestMs: number;
}

/** Sends another merchant's ordinary requests from a thread of its own: the attacker's thread is busy. */
export async function watchOthers({ url, child }: Serving): Promise<{ stop(): Promise<OthersFigures> }> {
  const thread = new Worker(new URL('./othersThread.ts', import.meta.url), {
    workerData: { url, pid: child.pid! },
  });
  await once(thread, 'message');
  return {
    async stop() {
      thread.postMessage('stop');
      const [figures] = (await once(thread, 'message')) as [OthersFigures];
      await thread.terminate();
      return figures;
    },
  };
}
