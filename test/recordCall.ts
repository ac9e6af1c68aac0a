import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

/** A request to the server and its response, as `node scripts/test.ts --validate` checks them. */
export interface RecordedCall {
  method: string;
  path: string;
  requestHeaders: Record<string, string>;
  requestBody: string | undefined;
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Larger ones take long to check and have the same fields. */
const BODY_LENGTH_MAX = 100_000;

const file = process.env.TEST_CALLS && join(process.env.TEST_CALLS, `${process.pid}.jsonl`);

export function recordCall(call: RecordedCall): void {
  if (file && call.body.length <= BODY_LENGTH_MAX) appendFileSync(file, `${JSON.stringify(call)}\n`);
}
