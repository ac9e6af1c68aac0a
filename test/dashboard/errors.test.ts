import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, isRefusal, networkError } from '../../dashboard/src/api/error.ts';

const error = (status: number, code: string, field?: string) =>
  new ApiError({ status, code, detail: '', ...(field === undefined ? {} : { field }) });

describe('an attempt that failed', () => {
  it('needs another Idempotency-Key only if the server has decided against it', () => {
    for (const refusal of [
      error(404, 'NOTIFICATION_NOT_FOUND'),
      error(409, 'ALREADY_ANSWERED'),
      error(409, 'CONFLICT'),
      error(422, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key'),
      error(422, 'VALIDATION_ERROR', 'text'),
    ])
      assert.equal(isRefusal(refusal), true, refusal.code);
  });

  it('keeps its key while the first attempt may still have been successful', () => {
    for (const unknown of [
      networkError(),
      error(500, 'INTERNAL_ERROR'),
      error(503, 'SERVICE_UNAVAILABLE'),
      error(409, 'CONFLICT', 'Idempotency-Key'),
      new TypeError('not JSON'),
    ])
      assert.equal(isRefusal(unknown), false, unknown.name);
  });
});
