import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * A client that takes nothing of its answer for so long is cut off. One that is slow, but reads, is not, as
 * far as can be told: Linux takes more only when a third of its buffer is free, which over loopback is a
 * megabyte and more.
 */
const STALLED_MAX_MS = 10_000;
const LOOK_EVERY_MS = 1000;

/**
 * Node's own time-out of a socket would not do: whatever the client sends winds it up again. This looks at
 * what still waits to be taken, and at nothing else. Events to a window that sleeps fall under it, too, once
 * the system's buffers are full.
 */
export function cutOffStalledReaders(app: FastifyInstance): void {
  const connections = new Map<Socket, { waiting: number; sinceMs: number }>();
  app.server.on('connection', (socket) => {
    connections.set(socket, { waiting: 0, sinceMs: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const [socket, seen] of connections) {
      const waiting = waitingBytes(socket);
      // Nothing waits, or less than before: it reads.
      if (waiting === 0 || waiting < seen.waiting || seen.waiting === 0) seen.sinceMs = nowMs;
      seen.waiting = waiting;
      // A reset, not a goodbye that would wait behind what nobody takes.
      if (nowMs - seen.sinceMs >= STALLED_MAX_MS) socket.resetAndDestroy();
    }
  }, LOOK_EVERY_MS).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

/**
 * What the operating system has not taken yet. The length of the stream's own queue stands still until a
 * large write is through as a whole; the handle's figure, by which Node tells slow from stalled, moves.
 */
function waitingBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return handle?.writeQueueSize ?? socket.writableLength;
}
