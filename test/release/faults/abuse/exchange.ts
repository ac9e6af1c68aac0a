import { connect } from 'node:net';

/** Bytes to send on a new connection, and the answers to expect. */
export interface Attack {
  bytes: Buffer;
  /** The methods of the requests in it; each must be answered. Empty if it is not HTTP. */
  methods: readonly string[];
  /** The bytes end before the request does, so the sender closes the connection after a while. */
  half: boolean;
}

export interface Answer {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: string;
}

export interface Exchanged {
  answers: Answer[];
  /** Received bytes that are not an answer. */
  rest: string;
  end: 'answered' | 'closed' | 'timeout';
}

const TIMEOUT_MS = 10_000;
/** Long enough for the server to send an error first. */
const CLOSE_AFTER_MS = 100;

/** Sends the attack and reads until each request is answered or the server closes the connection. */
export function exchange(port: number, { bytes, methods, half }: Attack): Promise<Exchanged> {
  return new Promise((resolve) => {
    const answers: Answer[] = [];
    let received: Buffer = Buffer.alloc(0);
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const finish = (end: Exchanged['end']) => {
      clearTimeout(timeout);
      clearTimeout(close);
      // Without a reset, each of thousands of connections would hold its port for a minute.
      socket.resetAndDestroy();
      resolve({ answers, rest: received.toString('latin1'), end });
    };
    const close = setTimeout(() => half && socket.end(), CLOSE_AFTER_MS);
    const timeout = setTimeout(finish, TIMEOUT_MS, 'timeout');
    socket.on('error', () => {});
    socket.on('close', () => {
      // A body without a length ends with the connection.
      const last = takeAnswer(received, methods[answers.length], true);
      if (last) {
        answers.push(last.answer);
        received = last.rest;
      }
      finish(answers.length > 0 && answers.length >= methods.length ? 'answered' : 'closed');
    });
    socket.on('data', (part) => {
      received = Buffer.concat([received, part]);
      for (;;) {
        const taken = takeAnswer(received, methods[answers.length], false);
        if (!taken) return;
        received = taken.rest;
        // A status below 200 comes before the real answer.
        if (taken.answer.status >= 200) answers.push(taken.answer);
        if (methods.length > 0 && answers.length === methods.length) return finish('answered');
      }
    });
    socket.write(bytes);
  });
}

function takeAnswer(
  received: Buffer,
  method: string | undefined,
  closed: boolean,
): { answer: Answer; rest: Buffer } | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const [first = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? Number.NaN);
  const headers = new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const;
    }),
  );
  const afterHead = received.subarray(headEnd + 4);
  const withBody = (body: Buffer, rest: Buffer) => ({
    answer: { status, headers, body: body.toString() },
    rest,
  });
  const nothing = Buffer.alloc(0);
  const hasNoBody = method === 'HEAD' || status < 200 || status === 204 || status === 304;
  // An event stream does not end.
  if (hasNoBody || headers.get('content-type')?.startsWith('text/event-stream'))
    return withBody(nothing, afterHead);
  if (headers.get('transfer-encoding') === 'chunked') {
    const [body, rest] = takeChunks(afterHead) ?? [];
    return body && rest ? withBody(body, rest) : undefined;
  }
  const length = headers.get('content-length');
  if (length === undefined) return closed ? withBody(afterHead, nothing) : undefined;
  if (afterHead.length < Number(length)) return undefined;
  return withBody(afterHead.subarray(0, Number(length)), afterHead.subarray(Number(length)));
}

function takeChunks(bytes: Buffer): [body: Buffer, rest: Buffer] | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return undefined;
    if (size === 0) return [Buffer.concat(parts), bytes.subarray(end + 2)];
    parts.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}
