import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { none } from '../fault.ts';
import type { Attack } from './attack.ts';

const SILENT = 470;
const CLOSED_MAX_S = 15;
/** More than the limit below, and more than the connections that get a response. */
const ABOVE_LIMIT = 300;

interface Silent {
  socket: Socket;
  text(): string;
  /** Infinity while it is open. */
  seconds(): number;
}

function openSilent(port: number): Silent {
  const startedAt = performance.now();
  let endedAt = Number.POSITIVE_INFINITY;
  let text = '';
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.on('data', (part) => {
    text += part.toString('latin1');
  });
  socket.once('close', () => {
    endedAt = performance.now();
  });
  return { socket, text: () => text, seconds: () => (endedAt - startedAt) / 1000 };
}

/** Connections that never send a byte, and more of them than one address may open. */
export const silentConnections: Attack = {
  what: 'silent connections',
  // The others use the same address.
  settings: { CONNECTIONS_PER_ADDRESS: String(SILENT + 50) },
  async run({ server, size }) {
    const connections = Array.from({ length: SILENT + ABOVE_LIMIT }, () => openSilent(server.port));
    try {
      // The short size does not wait for the ten seconds that a connection has for its first byte.
      const waitUntilMs = performance.now() + (size === 'short' ? 1000 : CLOSED_MAX_S * 1000);
      while (performance.now() < waitUntilMs && connections.some(({ seconds }) => seconds() === Infinity)) {
        await sleep(50);
      }
      const refused = connections.filter(({ text }) => !text().startsWith('HTTP/1.1 408'));
      const open = connections.filter(({ seconds }) => seconds() === Number.POSITIVE_INFINITY);
      if (size === 'short') {
        return [
          { what: 'silent connections: open', value: open.length, atMost: SILENT + 50 },
          {
            what: 'silent connections: refused',
            value: connections.length - open.length,
            atLeast: ABOVE_LIMIT - 50,
          },
        ];
      }
      return [
        { what: 'silent connections: refused', value: refused.length, atLeast: ABOVE_LIMIT - 50 },
        {
          what: 'silent connections: answered with 408',
          value: connections.length - refused.length,
          atLeast: SILENT,
        },
        none(`silent connections: open after ${CLOSED_MAX_S} s`, open.length),
        {
          what: 'silent connections: longest',
          value: Math.max(...connections.map(({ seconds }) => seconds())),
          unit: 's',
          atMost: CLOSED_MAX_S,
        },
      ];
    } finally {
      for (const { socket } of connections) socket.destroy();
    }
  },
};
