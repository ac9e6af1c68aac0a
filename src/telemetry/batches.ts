import type { Logger } from 'pino';
import type { OtlpTarget } from '../config/telemetry.ts';
import { type Signal, sendOtlp } from './send.ts';

/** The defaults of OpenTelemetry's own batch processor. */
const QUEUE_MAX = 2048;
const BATCH_MAX = 512;
/** When the process stops, this is all the time there is. */
const LAST_MS = 2000;

export interface Batches<Item> {
  /** Never waits. What does not fit into the queue is dropped. */
  add(item: Item): void;
  /** Sends what is left, within two seconds. */
  close(): Promise<void>;
}

interface BatchParts<Item> {
  signal: Signal;
  target: OtlpTarget;
  everyMs: number;
  bodyOf: (items: readonly Item[]) => object;
  log: Logger;
}

/**
 * Collects items and sends them in the background, one request at a time. A collector that is away, slow or refuses
 * costs at most the queue: the oldest attempt is given up after a while, and new items are dropped meanwhile.
 */
export function createBatches<Item>({
  signal,
  target,
  everyMs,
  bodyOf,
  log,
}: BatchParts<Item>): Batches<Item> {
  const report = createReport(signal, log);
  const stopping = new AbortController();
  let queue: Item[] = [];
  let dropped = 0;
  let sending: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function schedule(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      sending ??= sendAll().finally(() => {
        sending = undefined;
        if (queue.length > 0) schedule(everyMs);
      });
    }, ms).unref();
  }

  async function sendAll(attemptsMax?: number): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_MAX);
      queue = queue.slice(BATCH_MAX);
      const options = { stop: stopping.signal, ...(attemptsMax === undefined ? {} : { attemptsMax }) };
      const sent = await sendOtlp(signal, target, bodyOf(batch), options);
      if (sent.ok) report.worked(sent.rejected, dropped);
      else report.failed(sent.problem, batch.length);
      dropped = 0;
      if (!sent.ok || stopping.signal.aborted) return;
    }
  }

  return {
    add(item) {
      if (queue.length >= QUEUE_MAX) {
        dropped += 1;
        return;
      }
      queue.push(item);
      if (!sending) schedule(queue.length >= BATCH_MAX ? 0 : everyMs);
    },
    async close() {
      clearTimeout(timer);
      const end = setTimeout(() => stopping.abort(), LAST_MS).unref();
      await sending;
      await sendAll(1);
      clearTimeout(end);
    },
  };
}

/** One line when a collector stops working, and one when it works again. */
export function createReport(signal: Signal, log: Logger) {
  let isFailing = false;
  return {
    worked(rejected: number, dropped: number): void {
      if (isFailing) log.info({ signal, dropped }, 'the OpenTelemetry collector works again');
      if (rejected > 0 && !isFailing)
        log.warn({ signal, rejected }, 'the OpenTelemetry collector refuses a part');
      isFailing = false;
    },
    failed(code: string, dropped: number): void {
      if (!isFailing) log.warn({ signal, code, dropped }, 'cannot send to the OpenTelemetry collector');
      isFailing = true;
    },
  };
}
