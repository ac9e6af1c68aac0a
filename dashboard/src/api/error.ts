/** A failed API call: the API's error code, or UNREACHABLE if there was no response. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(given: { code: string; status: number; detail: string; field?: string; retryAfter?: number }) {
    super(given.detail);
    this.code = given.code;
    this.status = given.status;
    this.field = given.field;
    this.retryAfterSeconds = given.retryAfter;
  }
}

export const networkError = (): ApiError =>
  new ApiError({ code: 'UNREACHABLE', status: 0, detail: 'Cannot reach the server.' });

/** Whether a retry may succeed. */
export const isTemporary = (error: unknown): boolean =>
  !(error instanceof ApiError) ||
  ['UNREACHABLE', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'RATE_LIMITED'].includes(error.code);

/**
 * Whether the server has decided against it: it repeats its decision for the same Idempotency-Key, so another attempt
 * needs another key. Without a response, or while the first attempt still runs, only the same key is safe.
 */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError &&
  !isTemporary(error) &&
  !(error.code === 'CONFLICT' && error.field === 'Idempotency-Key');

/** For deleting and resolving: if someone else has deleted it, there is nothing left to do. */
export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 404)) throw error;
}

export async function readApiError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as {
    detail?: string;
    code?: string;
    field?: string;
  };
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiError({
    code: body.code ?? 'INTERNAL_ERROR',
    status: response.status,
    detail: body.detail ?? response.statusText,
    ...(body.field === undefined ? {} : { field: body.field }),
    ...(Number.isFinite(retryAfter) ? { retryAfter } : {}),
  });
}
