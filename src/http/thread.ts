import { once } from 'node:events';
import { MessageChannel, type MessagePort, parentPort, Worker } from 'node:worker_threads';
import { serviceUnavailable } from '../errors.ts';

/** For the word lists of the password check, and for 3 MB of JSON in its largest form. */
const MEMORY_MAX_MB = 256;
/** Starting one takes a second of computing at worst, and people try again when a password is refused. */
const KEPT_MS = 30_000;

interface Job {
  data: unknown;
  port: MessagePort;
}

/**
 * For work that would make other requests wait: the file calls `answerJobs`. Its thread starts when it is needed, does one
 * job after another, and ends when it was not needed for a while. A thread that crashes, ends or needs too much memory is
 * a failure of the server.
 */
export function createThread<T>(file: URL, keptMs = KEPT_MS): (data: unknown) => Promise<T> {
  let current: { thread: Worker; ended: Promise<never> } | undefined;
  let jobs = 0;
  let ending: NodeJS.Timeout | undefined;

  function start() {
    const thread = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MAX_MB } });
    let cause: unknown;
    thread.once('error', (error) => {
      cause = error;
    });
    const ended = once(thread, 'exit').then(([code]) => {
      if (current?.thread === thread) current = undefined;
      throw cause ?? new Error(`the thread ended with code ${code}`);
    });
    ended.catch(() => {});
    return { thread, ended };
  }

  return async (data) => {
    const { port1, port2 } = new MessageChannel();
    try {
      clearTimeout(ending);
      jobs += 1;
      current ??= start();
      const { thread, ended } = current;
      thread.ref();
      const answered = once(port1, 'message');
      thread.postMessage({ data, port: port2 } satisfies Job, [port2]);
      const [result] = await Promise.race([answered, ended]);
      return result;
    } catch (cause) {
      throw serviceUnavailable(cause);
    } finally {
      port1.close();
      jobs -= 1;
      if (jobs === 0) {
        // Neither keeps the process from ending.
        current?.thread.unref();
        ending = setTimeout(() => {
          current?.thread.terminate();
          current = undefined;
        }, keptMs).unref();
      }
    }
  };
}

/** The other side, in the thread. */
export function answerJobs<Data, Result>(answer: (data: Data) => Result | Promise<Result>): void {
  parentPort!.on('message', async ({ data, port }: Job) => port.postMessage(await answer(data as Data)));
}
