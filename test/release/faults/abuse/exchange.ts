import { connect } from 'node:net';
import { ERROR_CODES, type ErrorCode, isFailure } from '../../../../src/errors.ts';

/** Bytes to send on a new connection. */
export interface Attack {
  bytes: Buffer;
  /** Absent if it may not be HTTP. */
  method?: string;
  /** The bytes may end before the request does, so the sender closes the connection after a while. */
  half: boolean;
}

/** What must never happen, with any request. */
export const PROBLEMS = {
  internalError: 'responses with an internal error',
  leak: 'responses that leak information',
  malformed: 'errors without the documented body',
  noAnswer: 'requests without a response',
} as const;
export type Problem = keyof typeof PROBLEMS;

const TIMEOUT_MS = 10_000;
/** Long enough for the server to send an error first. */
const CLOSE_AFTER_MS = 100;

/** Sends the attack and reads one answer. Returns what is wrong with it, if anything. */
export async function findProblem(port: number, attack: Attack): Promise<[Problem, string] | undefined> {
  const { text, end } = await exchange(port, attack);
  const answer = answerIn(text, attack, end === 'closed');
  if (answer) return problemOf(answer);
  const isExpected = end === 'closed' && (attack.half || !attack.method);
  return isExpected ? undefined : ['noAnswer', `${end}: ${text.slice(0, 200)}`];
}

function exchange(
  port: number,
  attack: Attack,
): Promise<{ text: string; end: 'answered' | 'closed' | 'timeout' }> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const text = () => Buffer.concat(received).toString('latin1');
    const finish = (end: 'answered' | 'closed' | 'timeout') => {
      clearTimeout(timeout);
      clearTimeout(close);
      // Without a reset, each of thousands of connections would hold its port for a minute.
      socket.resetAndDestroy();
      resolve({ text: text(), end });
    };
    const close = setTimeout(() => attack.half && socket.end(), CLOSE_AFTER_MS);
    const timeout = setTimeout(finish, TIMEOUT_MS, 'timeout');
    socket.on('error', () => {});
    socket.on('close', () => finish('closed'));
    socket.on('data', (part) => {
      received.push(part);
      if (answerIn(text(), attack, false)) finish('answered');
    });
    socket.write(attack.bytes);
  });
}

interface Answer {
  status: number;
  head: string;
  body: string;
}

/** The first answer, when it is complete. A status below 200 comes before the real one. */
function answerIn(text: string, { method }: Attack, isClosed: boolean): Answer | undefined {
  const found = /^(?:HTTP\/1\.1 1.*?\r\n\r\n)*(HTTP\/1\.1 ([2-5]\d\d) .*?)\r\n\r\n(.*)$/s.exec(text);
  if (!found) return undefined;
  const [, head = '', status, body = ''] = found;
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  // An event stream does not end.
  const hasNoBody =
    method === 'HEAD' || /^HTTP\/1\.1 (204|304)|^content-type: text\/event-stream/im.test(head);
  const isChunked = /^transfer-encoding: chunked/im.test(head);
  const isComplete = isChunked
    ? /(^|\r\n)0\r\n\r\n$/.test(body)
    : length !== undefined && body.length >= Number(length);
  if (!hasNoBody && !isComplete && !isClosed) return undefined;
  const content = isChunked
    ? body.replaceAll(/(^|\r\n)[\da-f]+\r\n/g, '').trim()
    : body.slice(0, Number(length ?? body.length));
  return { status: Number(status), head, body: hasNoBody ? '' : content };
}

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

function problemOf({ status, head, body }: Answer): [Problem, string] | undefined {
  const leak = LEAKS.map((pattern) => pattern.exec(head)?.[0] ?? pattern.exec(body)?.[0]).find(Boolean);
  if (leak !== undefined) return ['leak', leak];
  if (status < 400) return undefined;
  if (body === '') return status >= 500 ? ['internalError', `${status}, empty`] : undefined;
  const { detail, code, field, ...more } = parsed(body);
  if (isFailure(code as ErrorCode)) return ['internalError', `${status} ${body}`];
  const isRight =
    /^content-type: application\/json; charset=utf-8\r?$/im.test(head) &&
    typeof detail === 'string' &&
    detail.trim() !== '' &&
    ERROR_CODES.includes(code as ErrorCode) &&
    ['string', 'undefined'].includes(typeof field) &&
    Object.keys(more).length === 0;
  return isRight ? undefined : ['malformed', `${status} ${body.slice(0, 200)}`];
}

function parsed(body: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}
