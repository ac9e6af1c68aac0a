import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** What a client may still send after the response: more than twice the largest body that an endpoint accepts. */
const UNREAD_MAX_BYTES = 8 * 1024 * 1024;
const UNREAD_MAX_MS = 5000;
/** A client that sends nothing for this long has finished. */
const SILENT_MAX_MS = 1000;

/**
 * A response may be sent before the body has arrived: 401, 413, 429 and others. If the connection is closed while bytes
 * are unread, the operating system sends a reset, and a client that is still sending loses the response. So the rest is
 * read first, within bounds.
 */
export function drainUnreadBodies(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (length !== undefined || encoding !== undefined) {
      // Before Node's own listener, which closes the connection if it is not kept alive.
      reply.raw.prependOnceListener('finish', () => drain(request.raw));
    }
    done();
  });
}

function drain(request: IncomingMessage): void {
  const { socket } = request;
  // A call within this process has no connection.
  if (request.complete || !(socket instanceof Socket)) return;
  // Node calls this to close the connection after the response. The function stays for the next requests.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket);
    else closeAfterReading(socket);
  };
  const timer = setTimeout(() => socket.destroy(), UNREAD_MAX_MS).unref();
  request.once('close', () => clearTimeout(timer));
  request.on('data', destroyAfter(UNREAD_MAX_BYTES, socket));
  request.resume();
}

/** Sends the rest of a response and the end of the connection, and reads until the client closes it too. */
export function closeAfterReading(socket: Socket, response = ''): void {
  socket.end(response);
  const timer = setTimeout(() => socket.destroy(), UNREAD_MAX_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.once('end', () => socket.destroy());
  socket.setTimeout(SILENT_MAX_MS, () => socket.destroy());
  // Nothing that comes now is a request.
  socket.removeAllListeners('data');
  socket.on('data', destroyAfter(UNREAD_MAX_BYTES, socket));
  socket.resume();
}

function destroyAfter(maxBytes: number, socket: Socket): (part: Buffer) => void {
  let bytes = 0;
  return (part) => {
    bytes += part.length;
    if (bytes > maxBytes) socket.destroy();
  };
}
