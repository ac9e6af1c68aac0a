/** What went wrong with a call: the API's code, or that there was no answer at all. */
export class Problem extends Error {
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

export const unreachable = (): Problem =>
  new Problem({ code: 'UNREACHABLE', status: 0, detail: 'The server is out of reach.' });

/** Whether another try may do better. */
export const isPassing = (error: unknown): boolean =>
  !(error instanceof Problem) ||
  ['UNREACHABLE', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'RATE_LIMITED'].includes(error.code);

/** Somebody else deleted it: who wanted it out of the way has that. */
export function unlessGone(error: unknown): void {
  if (!(error instanceof Problem && error.status === 404)) throw error;
}

export async function readProblem(response: Response): Promise<Problem> {
  const body = (await response.json().catch(() => ({}))) as {
    detail?: string;
    code?: string;
    field?: string;
  };
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new Problem({
    code: body.code ?? 'INTERNAL_ERROR',
    status: response.status,
    detail: body.detail ?? response.statusText,
    ...(body.field === undefined ? {} : { field: body.field }),
    ...(Number.isFinite(retryAfter) ? { retryAfter } : {}),
  });
}
