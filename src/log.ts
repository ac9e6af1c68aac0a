import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from './config.ts';

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
  config: Pick<Config, 'logLevel' | 'logPretty'>,
  destination?: DestinationStream,
): Logger {
  const lines = destination ?? standardOutput();
  const out = config.logPretty ? prettyStream(lines) : lines;
  const log = pino(
    {
      level: config.logLevel,
      base: null,
      timestamp,
      formatters: { level: (label) => ({ level: label }), log: redact },
      serializers: { err: describeError },
    },
    out,
  );
  destinations.set(log, out);
  return log;
}

/**
 * Lines are buffered for up to a second; `flush` writes the rest. The lines of one turn of the event loop go to pino's
 * destination as one text: one call per line cost as much as building the line.
 */
function standardOutput(): DestinationStream & { flush(): void } {
  const out = pino.destination({ sync: false, minLength: 4096, periodicFlush: 1000 });
  let lines = '';
  const writeLines = () => {
    const text = lines;
    lines = '';
    if (text) out.write(text);
  };
  process.once('exit', () => {
    writeLines();
    out.flushSync();
  });
  return {
    write(line) {
      if (lines === '') setImmediate(writeLines);
      lines += line;
    },
    flush() {
      writeLines();
      out.flush();
    },
  };
}

/** What is logged about a request. */
export interface RequestFacts {
  /** Letters, digits and a few other characters: needs no escaping. */
  id: string;
  method: string;
  /** The pattern, never the address itself, which may contain anything. */
  route: string;
  status: number;
  code: string | undefined;
  ms: number;
  merchantId: number | undefined;
}

/** Where each logger writes, for `createRequestLog`. */
const destinations = new WeakMap<Logger, DestinationStream>();

const INFO = 30;

/**
 * Of all lines the only one that a busy server writes by the thousand, and nothing in it needs a look: made by
 * hand it costs a quarter of what the library takes.
 */
export function createRequestLog(log: Logger): (facts: RequestFacts) => void {
  const out = destinations.get(log);
  if (!out) throw new Error('the logger is not from createLogger');
  return ({ id, method, route, status, code, ms, merchantId }) => {
    if (log.levelVal > INFO) return;
    const ofCode = code === undefined ? '' : `,"code":"${code}"`;
    const ofMerchant = merchantId === undefined ? '' : `,"merchant_id":${merchantId}`;
    out.write(
      `{"level":"info"${timestamp()},"request_id":"${id}","method":"${method}","route":"${route}","status":${status}${ofCode},"ms":${Math.round(ms * 100) / 100}${ofMerchant},"msg":"request"}\n`,
    );
  };
}

/** Lines of the same millisecond share the text: a busy server writes dozens of them. */
let stampedAt = 0;
let stamp = '';
function timestamp(): string {
  const now = Date.now();
  if (now !== stampedAt) {
    stampedAt = now;
    stamp = `,"time":"${new Date(now).toISOString()}"`;
  }
  return stamp;
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
