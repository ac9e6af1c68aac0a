/**
 * The load generator: keep-alive connections with one request in flight each, in its own process. Requests are
 * prepared buffers, and responses are read into one buffer per connection, so that on two cores the generator is
 * not the bottleneck.
 */
import { connect, type Socket } from 'node:net';

export interface RequestPlan {
  method: 'GET' | 'POST';
  path: string;
  /** The index of its token; absent if the request needs none. */
  token?: number;
  body?: string;
}

/** How a service expects its requests. */
export interface Dialect {
  /** The header up to the token. */
  tokenHeader: string;
  /** Header lines of every request. */
  headers?: readonly string[];
}

export const BEARER: Dialect = { tokenHeader: 'authorization: Bearer ' };

export interface LoadJob {
  /** The connections are spread over them. */
  ports: readonly number[];
  dialect: Dialect;
  connections: number;
  warmUpSeconds: number;
  seconds: number;
  tokens: readonly string[];
  requests: readonly RequestPlan[];
  /** Sends each request at most once, and ends early when there are none left. */
  once: boolean;
}

export interface Figures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  errors: number;
  /** All requests, including the warm-up. */
  requests: number;
}

/** More than any response head. */
const HEAD_MAX_BYTES = 4096;
const READ_BUFFER_BYTES = 64 * 1024;
const ERRORS_MAX = 1000;
const TIMEOUT_MS = 10_000;

if (process.send) {
  process.once('message', (job: LoadJob) => {
    run(job).then((figures) => process.send?.(figures, () => process.exit(0)));
  });
  process.once('disconnect', () => process.exit(1));
}

async function run(job: LoadJob): Promise<Figures> {
  const heads = job.requests.map((request) => toBuffer(request, job));
  const latencies: number[] = [];
  const sockets = new Set<Socket>();
  const begin = performance.now() + job.warmUpSeconds * 1000;
  const end = begin + job.seconds * 1000;
  let lastAt = begin;
  let next = 0;
  let errors = 0;

  await new Promise<void>((resolve) => {
    /** Sends the next request, or closes the connection at the end. */
    const send = (socket: Socket): number => {
      const now = performance.now();
      if (now >= end || (job.once && next >= heads.length) || errors > ERRORS_MAX) {
        sockets.delete(socket);
        socket.destroy();
        if (sockets.size === 0) resolve();
        return now;
      }
      socket.write(heads[next % heads.length]!);
      next += 1;
      return now;
    };

    const open = (port: number) => {
      let sentAt = 0;
      const responded = (ok: boolean) => {
        const now = performance.now();
        if (!ok) errors += 1;
        // Every answer within the time counts, even if its request was sent earlier: as many are still open at the end.
        else if (now >= begin && now <= end) {
          latencies.push(now - sentAt);
          lastAt = now;
        }
        sentAt = send(socket);
      };
      const read = responseReader(responded);
      const socket = connect({
        host: '127.0.0.1',
        port,
        noDelay: true,
        onread: {
          buffer: Buffer.allocUnsafe(READ_BUFFER_BYTES),
          callback: (size, buffer) => {
            read(buffer as Buffer, size);
            return true;
          },
        },
      });
      sockets.add(socket);
      socket.once('connect', () => {
        sentAt = send(socket);
      });
      socket.on('error', () => {});
      // If the server closes a connection, that is an error, and a new one is opened.
      socket.once('close', () => {
        if (!sockets.delete(socket)) return;
        errors += 1;
        if (errors > ERRORS_MAX && sockets.size === 0) resolve();
        else if (errors <= ERRORS_MAX) setTimeout(open, 20, port);
      });
    };
    for (let count = 0; count < job.connections; count += 1) open(job.ports[count % job.ports.length]!);
    // Do not wait forever for a server that never answers.
    const giveUp = () => {
      errors += sockets.size;
      resolve();
    };
    setTimeout(giveUp, end - performance.now() + TIMEOUT_MS).unref();
  });

  // If the requests ran out, the time ends with the last response.
  const seconds = (job.once && next >= heads.length ? lastAt - begin : job.seconds * 1000) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN;
  return { perSecond: latencies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99), errors, requests: next };
}

function toBuffer({ method, path, token, body }: RequestPlan, { tokens, dialect }: LoadJob): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', 'accept: application/json'];
  if (token !== undefined) lines.push(dialect.tokenHeader + tokens[token]);
  lines.push(...(dialect.headers ?? []));
  if (body !== undefined) {
    lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

const CHUNKS_END = '\r\n0\r\n\r\n';

/** Finds the end of a response by its length or its last chunk. Only 2xx is a success. */
function responseReader(responded: (ok: boolean) => void): (buffer: Buffer, size: number) => void {
  let head = '';
  let bodyLeft = 0;
  let chunksTail: string | undefined;
  let ok = false;
  return (buffer, size) => {
    let left = size;
    if (bodyLeft === 0 && chunksTail === undefined) {
      const before = head.length;
      head += buffer.toString('latin1', 0, Math.min(size, HEAD_MAX_BYTES));
      const headEnd = head.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
      ok = head.startsWith('2', 'HTTP/1.1 '.length);
      left = size - (headEnd + 4 - before);
      if (length !== undefined) bodyLeft = Number(length);
      // The line break of the head comes before the first chunk, which may be the last one.
      else if (/\r\ntransfer-encoding: chunked/i.test(head)) chunksTail = '\r\n';
      else throw new Error(`a response without a length: ${head}`);
      head = '';
    }
    if (chunksTail === undefined) {
      bodyLeft -= left;
      if (bodyLeft > 0) return;
    } else {
      // The start of the last chunk may have arrived with the previous bytes.
      const from = size - Math.min(left, CHUNKS_END.length);
      chunksTail = (chunksTail + buffer.toString('latin1', from, size)).slice(-CHUNKS_END.length);
      if (chunksTail !== CHUNKS_END) return;
      chunksTail = undefined;
    }
    responded(ok);
  };
}
