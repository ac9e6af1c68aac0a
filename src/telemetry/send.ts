import { setTimeout as sleep } from 'node:timers/promises';
import type { OtlpTarget } from '../config/telemetry.ts';
import { VERSION } from '../version.ts';
import { encodeRequest, readRejected } from './protobuf.ts';

export type Signal = 'traces' | 'metrics' | 'logs';

export type Sent = { ok: true; rejected: number } | { ok: false; problem: string };

/** OTLP names these as the ones that may be sent again. */
const MAY_RETRY = new Set([429, 502, 503, 504]);
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 1000;
const PAUSE_MAX_MS = 30_000;
const RESPONSE_MAX_BYTES = 64 * 1024;

const CONTENT_TYPES = { 'http/json': 'application/json', 'http/protobuf': 'application/x-protobuf' };

/** One request of OTLP over HTTP. Never throws. `signal` ends it, with its pauses. */
export async function sendOtlp(
  signal: Signal,
  { url, headers, protocol, timeoutMs }: OtlpTarget,
  body: object,
  { stop, attemptsMax = ATTEMPTS_MAX }: { stop: AbortSignal; attemptsMax?: number },
): Promise<Sent> {
  const bytes = protocol === 'http/json' ? Buffer.from(JSON.stringify(body)) : encodeRequest(signal, body);
  for (let attempt = 1; ; attempt += 1) {
    const result = await post(url, bytes, {
      timeoutMs,
      stop,
      headers: {
        ...headers,
        'content-type': CONTENT_TYPES[protocol],
        'user-agent': `Deskbell/${VERSION}`,
      },
    });
    if ('rejected' in result) return { ok: true, rejected: result.rejected };
    const { problem, mayRetry, afterMs } = result;
    if (!mayRetry || attempt >= attemptsMax || stop.aborted) return { ok: false, problem };
    const pauseMs = Math.min(afterMs ?? PAUSE_MS * 2 ** (attempt - 1), PAUSE_MAX_MS);
    // The process may end meanwhile.
    await sleep(pauseMs, undefined, { signal: stop, ref: false }).catch(() => {});
  }
}

type Posted = { rejected: number } | { problem: string; mayRetry: boolean; afterMs?: number | undefined };

async function post(
  url: string,
  body: Buffer,
  { headers, timeoutMs, stop }: { headers: Record<string, string>; timeoutMs: number; stop: AbortSignal },
): Promise<Posted> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
    });
    const answer = Buffer.from(await response.arrayBuffer()).subarray(0, RESPONSE_MAX_BYTES);
    if (response.status >= 200 && response.status < 300) {
      return { rejected: rejectedIn(answer, response.headers.get('content-type') ?? '') };
    }
    const afterMs = retryAfterMs(response.headers.get('retry-after'));
    return { problem: `HTTP_${response.status}`, mayRetry: MAY_RETRY.has(response.status), afterMs };
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: unknown } };
    const code = typeof cause?.code === 'string' ? cause.code : undefined;
    return { problem: name === 'TimeoutError' ? 'TIMEOUT' : (code ?? 'NETWORK'), mayRetry: true };
  }
}

/** A partial success is a success that must not be repeated. */
function rejectedIn(answer: Buffer, contentType: string): number {
  if (answer.length === 0) return 0;
  if (!contentType.includes('json')) return readRejected(answer);
  try {
    const { partialSuccess = {} } = JSON.parse(answer.toString()) as {
      partialSuccess?: Record<string, unknown>;
    };
    const { rejectedSpans, rejectedLogRecords, rejectedDataPoints } = partialSuccess;
    return Number(rejectedSpans ?? rejectedLogRecords ?? rejectedDataPoints ?? 0) || 0;
  } catch {
    return 0;
  }
}

function retryAfterMs(given: string | null): number | undefined {
  if (given === null) return undefined;
  const ms = /^\d+$/.test(given) ? Number(given) * 1000 : Date.parse(given) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
