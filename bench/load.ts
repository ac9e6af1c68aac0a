/**
 * The load: keep-alive connections with one request in flight on each, in a process of its own. Requests
 * are ready buffers and responses are read into one buffer a connection: on two cores the load must not be
 * what is measured.
 */
import { connect, type Socket } from 'node:net';

export interface RequestPlan {
  method: 'GET' | 'POST';
  path: string;
  /** Into the job's tokens; absent for a request that needs none. */
  token?: number;
  body?: string;
}

/** How a service wants to be asked. */
export interface Dialect {
  /** What stands before the token. */
  tokenHeader: string;
  /** Lines that every request carries. */
  headers?: readonly string[];
}

export const BEARER: Dialect = { tokenHeader: 'authorization: Bearer ' };

export interface LoadJob {
  /** The connections take turns over them. */
  ports: readonly number[];
  dialect: Dialect;
  connections: number;
  warmUpSeconds: number;
  seconds: number;
  tokens: readonly string[];
  requests: readonly RequestPlan[];
  /** Each request at most once: the load ends early when they run out. */
  once: boolean;
}

export interface Figures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  errors: number;
  /** All that were sent, those of the warm-up included. */
  requests: number;
}

/** Longer than any head that comes back. */
const HEAD_MAX_BYTES = 4096;
const READ_BUFFER_BYTES = 64 * 1024;
const ERRORS_MAX = 1000;
const PATIENCE_MS = 10_000;

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
    /** Sends the next request of the plan, or ends the connection. */
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
        // Whatever is answered in the time counts, whenever it was sent: at the end as many are still open.
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
      // A connection that the server closes is an error, and is replaced.
      socket.once('close', () => {
        if (!sockets.delete(socket)) return;
        errors += 1;
        if (errors > ERRORS_MAX && sockets.size === 0) resolve();
        else if (errors <= ERRORS_MAX) setTimeout(open, 20, port);
      });
    };
    for (let count = 0; count < job.connections; count += 1) open(job.ports[count % job.ports.length]!);
    // A server that never answers is not waited for.
    const giveUp = () => {
      errors += sockets.size;
      resolve();
    };
    setTimeout(giveUp, end - performance.now() + PATIENCE_MS).unref();
  });

  // With the requests used up, the time is that of the last response.
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

/** Counts a response's bytes to its end, or looks for the last of its chunks. Anything but 2xx is no success. */
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
      // The head's end stands before the first chunk, which may be the last one.
      else if (/\r\ntransfer-encoding: chunked/i.test(head)) chunksTail = '\r\n';
      else throw new Error(`a response without a length: ${head}`);
      head = '';
    }
    if (chunksTail === undefined) {
      bodyLeft -= left;
      if (bodyLeft > 0) return;
    } else {
      // The line before the last chunk may have come with the bytes before these.
      const from = size - Math.min(left, CHUNKS_END.length);
      chunksTail = (chunksTail + buffer.toString('latin1', from, size)).slice(-CHUNKS_END.length);
      if (chunksTail !== CHUNKS_END) return;
      chunksTail = undefined;
    }
    responded(ok);
  };
}
