import { createExporter, type ExporterParts } from './exporter.ts';

/** The defaults of OpenTelemetry's own batch processor. */
const QUEUE_MAX = 2048;
const BATCH_MAX = 512;
const ATTEMPTS_MAX = 5;

export interface Batches<Item> {
  /** Never waits. What does not fit into the queue is dropped. */
  add(item: Item): void;
  /** Sends what is left, within two seconds. */
  close(): Promise<void>;
}

interface BatchParts<Item> extends ExporterParts {
  everyMs: number;
  bodyOf: (items: readonly Item[]) => object;
}

/**
 * Collects items and sends them in the background, one request at a time. A collector that is slow, does not respond or
 * refuses costs at most the queue: each batch has a few attempts, and what does not fit into the queue is dropped.
 */
export function createBatches<Item>({ everyMs, bodyOf, ...parts }: BatchParts<Item>): Batches<Item> {
  const exporter = createExporter(parts, ATTEMPTS_MAX);
  let queue: Item[] = [];
  let sending: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosing = false;

  function schedule(ms: number): void {
    if (isClosing) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      sending ??= sendAll().finally(() => {
        sending = undefined;
        if (queue.length > 0) schedule(everyMs);
      });
    }, ms).unref();
  }

  async function sendAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_MAX);
      queue = queue.slice(BATCH_MAX);
      if (!(await exporter.send(bodyOf(batch), batch.length))) return;
    }
  }

  return {
    add(item) {
      if (queue.length >= QUEUE_MAX) {
        exporter.drop(1, 'QUEUE_FULL');
        return;
      }
      queue.push(item);
      if (sending) return;
      // A full batch does not wait: the queue would be full long before.
      if (queue.length === BATCH_MAX) {
        clearTimeout(timer);
        timer = undefined;
      }
      schedule(queue.length >= BATCH_MAX ? 0 : everyMs);
    },
    async close() {
      isClosing = true;
      clearTimeout(timer);
      exporter.finish();
      await sending;
      await sendAll();
      exporter.drop(queue.length, 'STOPPED');
      queue = [];
      exporter.close();
    },
  };
}
