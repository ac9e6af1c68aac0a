import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { tooManyConnections } from '../../errors.ts';
import { addressGroup, shortAddress } from '../address.ts';
import { rawResponse } from '../errors.ts';
import { closeAfterReading } from './unreadBodies.ts';

/** Refused connections that still get a response, at a time. Above that, they are closed without one. */
const REFUSING_MAX = 100;
const WARN_EVERY_MS = 60_000;
const TOO_MANY = rawResponse('503 Service Unavailable', tooManyConnections());

/**
 * Limits the connections of each address. It runs before any header is read, so behind a proxy this is the proxy's
 * address.
 */
export function limitConnections(
  app: FastifyInstance,
  { perAddress, log }: { perAddress: number; log: Logger },
): void {
  if (perAddress === 0) return;
  const open = new Map<string, number>();
  let refusing = 0;
  let warnedAtMs = Number.NEGATIVE_INFINITY;

  function refuse(socket: Socket, address: string): void {
    if (performance.now() - warnedAtMs > WARN_EVERY_MS) {
      warnedAtMs = performance.now();
      log.warn({ address: shortAddress(address), perAddress }, 'too many connections from one address');
    }
    if (refusing >= REFUSING_MAX) {
      socket.resetAndDestroy();
      return;
    }
    refusing += 1;
    socket.once('close', () => {
      refusing -= 1;
    });
    closeAfterReading(socket, TOO_MANY);
  }

  app.server.on('connection', (socket) => {
    // Undefined if the client has already disconnected.
    const address = socket.remoteAddress;
    if (address === undefined) return;
    const group = addressGroup(address);
    const count = open.get(group) ?? 0;
    if (count >= perAddress) return refuse(socket, address);
    open.set(group, count + 1);
    socket.once('close', () => {
      const left = open.get(group)! - 1;
      if (left === 0) open.delete(group);
      else open.set(group, left);
    });
  });
}
