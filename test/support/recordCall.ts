import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

/** A request to the server and its response. After the tests, validateCalls.ts compares them with the API document. */
export interface RecordedCall {
  method: string;
  path: string;
  requestHeaders: Record<string, string>;
  requestBody: string | undefined;
  status: number;
  headers: Headers;
  body: string;
}

/** Larger ones take long to check and have the same fields. */
const BODY_LENGTH_MAX = 100_000;

const file = process.env.TEST_CALLS && join(process.env.TEST_CALLS, `${process.pid}.jsonl`);

export function recordCall(call: RecordedCall): void {
  if (!file || call.body.length > BODY_LENGTH_MAX) return;
  appendFileSync(file, `${JSON.stringify({ ...call, headers: Object.fromEntries(call.headers) })}\n`);
}
