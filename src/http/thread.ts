import { Worker } from 'node:worker_threads';
import { serviceUnavailable } from '../errors.ts';

/** For the word lists of the password check, and for 3 MB of JSON in its largest form. */
const MEMORY_MAX_MB = 256;

/**
 * Runs a file in a new thread, for work that would make other requests wait. The file posts its result as one message.
 * A thread that crashes, ends without a message or needs too much memory is a failure of the server.
 */
export async function runInThread<T>(file: URL, workerData: unknown): Promise<T> {
  let thread: Worker | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      thread = new Worker(file, { workerData, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MAX_MB } });
      thread.once('message', resolve);
      thread.once('messageerror', reject);
      thread.once('error', reject);
      thread.once('exit', (code) => reject(new Error(`the thread ended with code ${code} and no result`)));
    });
  } catch (cause) {
    throw serviceUnavailable(cause);
  } finally {
    await thread?.terminate();
  }
}
