import { DeskbellError, isTransient, noResponse, refused } from './errors.ts';
import { limitTime, retryDelayMs, sleep } from './time.ts';

/** The settings of a client. */
export interface DeskbellOptions {
  /** The address of your Deskbell, for example `https://desk.example`. */
  url: string;
  /** A key (`dbk_…`). An owner creates it, see `POST /api/v1/keys`. */
  key: string;
  /** Sends the requests. The default is the global `fetch`. */
  fetch?: typeof fetch;
  /** How often a failed request is retried. The default is 3. */
  retries?: number;
}

export interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** How long the server may take on purpose. */
  waitSeconds?: number | undefined;
}

const RETRIES = 3;
const RESPONSE_MAX_SECONDS = 15;
/** If `Retry-After` is longer than this, the caller decides. */
const RETRY_AFTER_MAX_SECONDS = 60;

export class Http {
  readonly #url: string;
  readonly #key: string;
  readonly #fetch: typeof fetch;
  readonly #retries: number;

  constructor({ url, key, fetch, retries = RETRIES }: DeskbellOptions) {
    if (!url)
      throw new TypeError('url is required: the address of your Deskbell, for example https://desk.example');
    if (!key) throw new TypeError('key is required: a key of your Deskbell, dbk_…');
    this.#url = url.replace(/\/+$/, '');
    this.#key = key;
    // A browser's fetch works only as a function of its window.
    this.#fetch = fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#retries = retries;
  }

  /** Sends a request that is safe to repeat, and repeats it if it fails. */
  async call<T>(call: Call): Promise<T> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.callOnce<T>(call);
      } catch (error) {
        const retry =
          isTransient(error) &&
          failures < this.#retries &&
          (error.retryAfterSeconds ?? 0) <= RETRY_AFTER_MAX_SECONDS;
        if (!retry) throw error;
        await sleep(retryDelayMs(error, failures), call.signal);
      }
    }
  }

  async callOnce<T>({ body, idempotencyKey, signal, waitSeconds = 0, ...call }: Call): Promise<T> {
    const limit = limitTime((waitSeconds + RESPONSE_MAX_SECONDS) * 1000, signal);
    try {
      const response = await this.#fetch(this.#address(call), {
        method: call.method,
        headers: {
          authorization: `Bearer ${this.#key}`,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: limit.signal,
      });
      const text = await response.text();
      if (!response.ok) throw refused(response, text);
      return parse<T>(response, text);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof DeskbellError ? error : noResponse(error);
    } finally {
      limit.end();
    }
  }

  /** Opens a stream of server-sent events. Rejects if the response is anything else. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch(this.#address({ path }), {
      headers: { authorization: `Bearer ${this.#key}`, accept: 'text/event-stream', ...headers },
      cache: 'no-store',
      signal,
    });
    if (!response.ok) throw refused(response, await response.text());
    return response;
  }

  #address({ path, query = {} }: Pick<Call, 'path' | 'query'>): string {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) parameters.set(name, String(value));
    }
    return `${this.#url}/api/v1${path}${parameters.size === 0 ? '' : `?${parameters}`}`;
  }
}

function parse<T>(response: Response, text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new DeskbellError({
      status: response.status,
      code: 'INVALID_RESPONSE',
      detail: 'The response is not JSON. Is the url the address of a Deskbell?',
      cause,
    });
  }
}
