import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { OtlpTarget } from '../config/telemetry.ts';
import { encodeBody, type Signal, sendOtlp } from './send.ts';

const PAUSE_MS = 1000;
/** A collector can ask for a longer pause, but it does not get it: what happens meanwhile would be dropped. */
const ASKED_MAX_MS = 5 * 60_000;
/** When the process stops, this is all the time there is. */
const LAST_MS = 2000;
/** Between two log lines about data that was dropped. */
const LINE_EVERY_MS = 60_000;

export interface ExporterParts {
  signal: Signal;
  target: OtlpTarget;
  log: Logger;
  /** Counts what is lost. */
  onDropped: (signal: Signal, count: number) => void;
  /** For tests. */
  pause?: (ms: number, stop: AbortSignal) => Promise<void>;
}

/** Sends one signal to the collector, one request at a time. */
export interface Exporter {
  /** Resolves when the collector may be called again: at once, unless it has asked for a pause. */
  ready(): Promise<void>;
  /** Never throws. What cannot be sent is dropped; then it returns false. */
  send(body: object, count: number): Promise<boolean>;
  drop(count: number, code: string): void;
  /** The process stops: from now on there are two seconds, and each request has one attempt. */
  finish(): void;
  /** After the last request. */
  close(): void;
}

export function createExporter(
  { signal, target, log, onDropped, pause = pauseFor }: ExporterParts,
  attemptsMax: number,
): Exporter {
  const report = createReport(signal, log);
  const finishing = new AbortController();
  const stopping = new AbortController();
  let end: NodeJS.Timeout | undefined;
  let readyAtMs = 0;

  function drop(count: number, code: string): void {
    if (count === 0) return;
    onDropped(signal, count);
    report.dropped(count, code);
  }

  async function ready(): Promise<void> {
    const askedMs = readyAtMs - performance.now();
    if (askedMs <= 0 || stopping.signal.aborted) return;
    await pause(askedMs, stopping.signal);
    readyAtMs = 0;
  }

  return {
    ready,
    drop,
    async send(body, count) {
      let bytes: Uint8Array<ArrayBuffer>;
      try {
        bytes = encodeBody(signal, target, body);
      } catch (err) {
        log.error({ err, signal }, 'cannot encode OpenTelemetry data');
        drop(count, 'NOT_ENCODED');
        return false;
      }
      for (let attempt = 1; ; attempt += 1) {
        await ready();
        if (stopping.signal.aborted) {
          drop(count, 'STOPPED');
          return false;
        }
        const sent = await sendOtlp(target, bytes, stopping.signal);
        if (sent.ok) {
          report.worked();
          drop(sent.rejected, 'REJECTED');
          return true;
        }
        const { code, mayRetry, afterMs } = sent;
        if (afterMs !== undefined) readyAtMs = performance.now() + Math.min(afterMs, ASKED_MAX_MS);
        if (!mayRetry || attempt >= attemptsMax || finishing.signal.aborted) {
          report.failed();
          drop(count, code);
          return false;
        }
        if (afterMs === undefined) await pause(PAUSE_MS * 2 ** (attempt - 1), finishing.signal);
      }
    },
    finish() {
      finishing.abort();
      if (readyAtMs - performance.now() > LAST_MS) stopping.abort();
      else end = setTimeout(() => stopping.abort(), LAST_MS);
    },
    close() {
      clearTimeout(end);
      report.close();
    },
  };
}

/** The process may end meanwhile. */
const pauseFor = (ms: number, stop: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal: stop, ref: false }).catch(() => {});

/** At most a line a minute about what was dropped, and one when the collector works again. */
function createReport(signal: Signal, log: Logger) {
  let isFailing = false;
  let isReported = false;
  let count = 0;
  let codes = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  function write(): void {
    timer = undefined;
    if (count === 0) return;
    const line = { signal, dropped: count, code: [...codes].join(', ') };
    isReported = isFailing;
    count = 0;
    codes = new Set();
    timer = setTimeout(write, LINE_EVERY_MS).unref();
    // Last: this line, too, may be dropped.
    log.warn(line, 'OpenTelemetry data dropped');
  }

  return {
    worked(): void {
      if (isFailing && isReported) log.info({ signal }, 'the OpenTelemetry collector works again');
      if (isFailing) isReported = false;
      isFailing = false;
    },
    failed(): void {
      isFailing = true;
    },
    dropped(more: number, code: string): void {
      count += more;
      codes.add(code);
      if (!timer) write();
    },
    close(): void {
      clearTimeout(timer);
      write();
      clearTimeout(timer);
    },
  };
}
