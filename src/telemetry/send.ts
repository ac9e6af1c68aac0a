import type { OtlpTarget } from '../config/telemetry.ts';
import { VERSION } from '../version.ts';
import { encodeRequest, readRejected } from './protobuf.ts';

export type Signal = 'traces' | 'metrics' | 'logs';

export type Sent =
  | { ok: true; rejected: number }
  /** `afterMs`: the pause that the collector asks for. */
  | { ok: false; code: string; mayRetry: boolean; afterMs?: number | undefined };

/** OTLP names these as the ones that may be sent again. */
const MAY_RETRY = new Set([429, 502, 503, 504]);
const RESPONSE_MAX_BYTES = 64 * 1024;

const CONTENT_TYPES = { 'http/json': 'application/json', 'http/protobuf': 'application/x-protobuf' };

export const encodeBody = (signal: Signal, { protocol }: OtlpTarget, body: object): Uint8Array<ArrayBuffer> =>
  new Uint8Array(protocol === 'http/json' ? Buffer.from(JSON.stringify(body)) : encodeRequest(signal, body));

/** One request of OTLP over HTTP. Never throws. */
export async function sendOtlp(
  { url, headers, protocol, timeoutMs }: OtlpTarget,
  body: Uint8Array<ArrayBuffer>,
  stop: AbortSignal,
): Promise<Sent> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': CONTENT_TYPES[protocol],
        'user-agent': `Deskbell/${VERSION}`,
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
    });
    const answer = Buffer.from(await response.arrayBuffer()).subarray(0, RESPONSE_MAX_BYTES);
    if (response.status >= 200 && response.status < 300) {
      return { ok: true, rejected: rejectedIn(answer, response.headers.get('content-type') ?? '') };
    }
    const afterMs = retryAfterMs(response.headers.get('retry-after'));
    return {
      ok: false,
      code: `HTTP_${response.status}`,
      mayRetry: MAY_RETRY.has(response.status),
      afterMs,
    };
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: unknown } };
    const code = typeof cause?.code === 'string' ? cause.code : undefined;
    return { ok: false, code: name === 'TimeoutError' ? 'TIMEOUT' : (code ?? 'NETWORK'), mayRetry: true };
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
