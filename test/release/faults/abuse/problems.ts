import { ERROR_CODES, type ErrorCode, isFailure } from '../../../../src/errors.ts';
import type { Answer, Attack, Exchanged } from './exchange.ts';

/** What must never happen, with any request. */
export const PROBLEMS = ['internal error', 'leak', 'malformed error', 'no answer'] as const;
export type Problem = (typeof PROBLEMS)[number];

/** Stack traces, files, modules and SQL, as Node and both databases print them. */
const LEAKS = [
  /\bat .{1,200}\(.{1,200}:\d+:\d+\)/,
  /\bat (file|node):/,
  /node_modules/,
  /\.[jt]s:\d+/,
  /\bselect .{1,500}\bfrom\b/is,
  /\b(insert into|delete from)\b/i,
  /\bSQLITE_/,
  /syntax error at/i,
  /no such (table|column)|violates .{1,40} constraint|relation ".{1,80}" does/i,
];

/** The problem with this outcome and its details, if there is one. */
export function findProblem(
  { methods, half }: Attack,
  { answers, end, rest }: Exchanged,
): [Problem, string] | undefined {
  for (const answer of answers) {
    const problem = problemOfAnswer(answer);
    if (problem) return problem;
  }
  if (end === 'timeout')
    return ['no answer', `${answers.length} of ${methods.length} answers, then a time-out`];
  if (!half && answers.length < methods.length) return ['no answer', `the connection was closed: ${rest}`];
  return undefined;
}

function problemOfAnswer({ status, headers, body }: Answer): [Problem, string] | undefined {
  if (Number.isNaN(status)) return ['malformed error', 'no status line'];
  for (const text of [body, ...headers.values()]) {
    const leak = LEAKS.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
    if (leak !== undefined) return ['leak', leak];
  }
  if (status < 400 || body === '') return status >= 500 ? ['internal error', `${status}, empty`] : undefined;
  const { code } = parsed(body);
  if (isFailure(code as ErrorCode)) return ['internal error', `${status} ${body}`];
  return isErrorBody(body, headers) ? undefined : ['malformed error', `${status} ${body.slice(0, 200)}`];
}

function isErrorBody(body: string, headers: ReadonlyMap<string, string>): boolean {
  const { detail, code, field, ...more } = parsed(body);
  return (
    headers.get('content-type') === 'application/json; charset=utf-8' &&
    typeof detail === 'string' &&
    detail.trim() !== '' &&
    ERROR_CODES.includes(code as ErrorCode) &&
    (field === undefined || typeof field === 'string') &&
    Object.keys(more).length === 0
  );
}

function parsed(body: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}
