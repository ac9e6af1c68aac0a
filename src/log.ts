import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from './config.ts';
import { currentSpan } from './tracing.ts';

/**
 * One line per event. Lines contain names, numbers and codes, never a body, a query, a header or a message text. The
 * redaction is a second protection, in case somebody forgets. (pino's own took a fifth of the server's time.)
 */
const SECRETS = new Set([
  'password',
  'access_token',
  'refresh_token',
  'authorization',
  'token',
  'secret',
  'email',
  'body',
  'context',
  'question',
  'answer',
  'lead_phone',
  'customer_phone',
  'agent_response_to_customer',
  'resolution_notes',
  'support_request_reason',
]);

function redact(line: Record<string, unknown>, depth = 0): Record<string, unknown> {
  for (const key in line) {
    const value = line[key];
    if (SECRETS.has(key)) line[key] = '[redacted]';
    else if (typeof value === 'object' && value !== null && !(value instanceof Error) && depth < 3) {
      line[key] = redact({ ...value }, depth + 1);
    }
  }
  return line;
}

export function createLogger(
  config: Pick<Config, 'logLevel' | 'logPretty'> & Partial<Pick<Config, 'telemetry'>>,
  destination?: DestinationStream,
): Logger {
  const out = destination ?? standardOutput();
  const printed = config.logPretty ? prettyStream(out) : out;
  return pino(
    {
      level: config.logLevel,
      base: null,
      timestamp: isoTime,
      formatters: { level: (label) => ({ level: label }), log: redact },
      serializers: { err: describeError },
      ...(config.telemetry?.traces && { mixin: traceOf }),
    },
    config.telemetry ? withListeners(printed) : printed,
  );
}

type Listener = (line: string) => void;
const listeners = new Set<Listener>();

/** Calls back for each line while OpenTelemetry is set up. Call the result to stop. */
export function onLogLine(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function withListeners(out: DestinationStream & { flush?: () => void }): DestinationStream {
  return {
    write(line) {
      out.write(line);
      for (const listener of listeners) listener(line);
    },
    flush: () => out.flush?.(),
  } as DestinationStream;
}

/** The line belongs to the trace of its request or delivery. */
function traceOf(): object {
  const span = currentSpan();
  return span?.isRecorded ? { trace_id: span.traceId, span_id: span.spanId } : {};
}

let isoTimeMs = 0;
let isoTimeText = '';

/** Like pino's own, but formats each millisecond only once: under load, many lines have the same one. */
function isoTime(): string {
  const now = Date.now();
  if (now !== isoTimeMs) {
    isoTimeMs = now;
    isoTimeText = `,"time":"${new Date(now).toISOString()}"`;
  }
  return isoTimeText;
}

/** Buffered for up to a second, because one write per line would cost more than the line. Flushed at exit. */
function standardOutput(): DestinationStream {
  const out = pino.destination({ sync: false, minLength: 4096, periodicFlush: 1000 });
  process.once('exit', () => out.flushSync());
  return out;
}

interface ErrorDescription {
  type: string;
  code?: string;
  message?: string;
  stack?: string;
  cause?: ErrorDescription;
}

/** A database's message may contain a value from a request: its code is enough. */
function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: unknown };
  const fromDatabase = 'severity' in error || 'errcode' in error;
  const stack = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  return {
    type: error.constructor.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(fromDatabase ? {} : { message: error.message }),
    stack: stack.map((line) => line.trim()).join('\n'),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

const COLOURS: Record<string, number> = { warn: 33, error: 31, fatal: 31, debug: 90, trace: 90 };

/** For a person at a terminal: time, message, then the other fields. */
function prettyStream(out: DestinationStream): DestinationStream {
  return {
    write(line) {
      const { level, time, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const colour = COLOURS[String(level)] ?? 36;
      const details = Object.entries(rest).map(
        ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      );
      const head = `\u001b[90m${String(time).slice(11, 23)}\u001b[0m \u001b[${colour}m${msg}\u001b[0m`;
      const trace = err ? `\n${JSON.stringify(err, null, 2).replaceAll('\\n', '\n      ')}` : '';
      out.write(`${head} \u001b[90m${details.join(' ')}\u001b[0m${trace}\n`);
    },
  };
}
