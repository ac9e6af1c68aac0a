/** A request failed: the server refused it, or did not respond. */
export class DeskbellError extends Error {
  override readonly name = 'DeskbellError';
  /** The HTTP status. 0 if there was no response. */
  readonly status: number;
  /** The code of the error, for example `VALIDATION_ERROR`. `NETWORK_ERROR` if there was no response. */
  readonly code: string;
  /** The explanation, in English. Also the `message` of this error. */
  readonly detail: string;
  /** The field or header that is wrong. */
  readonly field: string | undefined;
  /** The server asks you to wait this long before you try again. */
  readonly retryAfterSeconds: number | undefined;
  /** Find the request in the server's log with this id. */
  readonly requestId: string | undefined;

  constructor(facts: {
    status: number;
    code: string;
    detail: string;
    field?: string | undefined;
    retryAfterSeconds?: number | undefined;
    requestId?: string | undefined;
    cause?: unknown;
  }) {
    super(facts.detail, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.code = facts.code;
    this.detail = facts.detail;
    this.field = facts.field;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.requestId = facts.requestId;
  }
}

/** @internal */
export function noResponse(cause: unknown): DeskbellError {
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return new DeskbellError({
    status: 0,
    code: 'NETWORK_ERROR',
    detail: `Deskbell did not respond${reason}.`,
    cause,
  });
}

/** @internal A response that is not from Deskbell, for example from a proxy, has no `detail` and no `code`. */
export function refused(response: Response, text: string): DeskbellError {
  const { detail, code, field } = parseObject(text);
  return new DeskbellError({
    status: response.status,
    code: typeof code === 'string' ? code : `HTTP_${response.status}`,
    detail: typeof detail === 'string' ? detail : `The server responded with status ${response.status}.`,
    field: typeof field === 'string' ? field : undefined,
    retryAfterSeconds: retryAfterSeconds(response.headers.get('retry-after')),
    requestId: response.headers.get('x-request-id') ?? undefined,
  });
}

/**
 * @internal Whether the same request may succeed later: no response, a failure, too many requests, or the first try of
 * this write is still running (409 with `Retry-After`).
 */
export function isTransient(error: unknown): error is DeskbellError {
  if (!(error instanceof DeskbellError)) return false;
  const { status } = error;
  return (
    status === 0 ||
    status === 429 ||
    status >= 500 ||
    (status === 409 && error.retryAfterSeconds !== undefined)
  );
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The header is a number of seconds or a date. */
function retryAfterSeconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds));
}
