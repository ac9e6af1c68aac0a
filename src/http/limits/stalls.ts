import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/**
 * A client that reads nothing of its response for this long is disconnected. A slow client is not, as long as it
 * reads a chunk in this time. Linux accepts more data only when a third of its buffer is free, which is a megabyte
 * or more over loopback.
 */
const STALLED_MAX_MS = 10_000;
/**
 * A connection without any response for this long is closed. Node's keep-alive time-out (72 s) usually comes first, but
 * a line break every minute restarts it. Event streams send something every 15 s.
 */
const IDLE_MAX_MS = 90_000;
/** A new connection that has sent nothing is closed after ten seconds, or after this time if the server stops. */
const SILENT_AT_STOP_MAX_MS = 1000;
const CHECK_EVERY_MS = 1000;
/** Larger responses are written in chunks of this size, because only complete writes can be observed. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Node's own socket time-out does not help here: anything that the client sends restarts it. This only looks at what
 * the operating system has accepted. It also disconnects a sleeping browser window that no longer reads its events.
 */
export function disconnectStalledReaders(app: FastifyInstance): void {
  const connections = new Map<Socket, { takenBytes: number; sinceMs: number; usedMs: number }>();
  app.server.on('connection', (socket) => {
    connections.set(socket, { takenBytes: 0, sinceMs: 0, usedMs: performance.now() });
    socket.once('close', () => connections.delete(socket));
  });
  let stopping = false;
  // Node then no longer checks new connections, and does not count them as idle.
  app.addHook('preClose', async () => {
    stopping = true;
  });
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const [socket, seen] of connections) {
      const takenBytes = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || takenBytes !== seen.takenBytes) seen.sinceMs = nowMs;
      if (takenBytes !== seen.takenBytes) seen.usedMs = nowMs;
      seen.takenBytes = takenBytes;
      // A reset: a normal close would wait for the client to read the rest.
      if (nowMs - seen.sinceMs >= STALLED_MAX_MS) socket.resetAndDestroy();
      const isSilent = stopping && socket.bytesRead === 0;
      if (nowMs - seen.usedMs >= (isSilent ? SILENT_AT_STOP_MAX_MS : IDLE_MAX_MS)) socket.destroy();
    }
  }, CHECK_EVERY_MS).unref();
  app.addHook('onClose', async () => clearInterval(timer));

  app.addHook('onSend', (_request, reply, payload, done) => {
    if ((typeof payload !== 'string' && !Buffer.isBuffer(payload)) || payload.length <= CHUNK_BYTES) {
      return done(null, payload);
    }
    // A list is already a Buffer: copying megabytes for each request would slow down everybody.
    const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
    reply.header('content-length', body.length);
    return done(null, Readable.from(chunksOf(body), { objectMode: false }));
  });
}

function* chunksOf(body: Buffer): Generator<Buffer> {
  for (let from = 0; from < body.length; from += CHUNK_BYTES) yield body.subarray(from, from + CHUNK_BYTES);
}
