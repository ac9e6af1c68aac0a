import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { none } from '../fault.ts';
import type { Attack } from './attack.ts';

const SILENT = 470;
/** The others use the same address. */
const PER_ADDRESS = SILENT + 50;
const ABOVE_LIMIT = 300;
const FIRST_BYTE_MAX_S = 10;
const CLOSED_MAX_S = 15;

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
  settings: { CONNECTIONS_PER_ADDRESS: String(PER_ADDRESS) },
  async run({ server }) {
    const startedAt = performance.now();
    const connections = Array.from({ length: PER_ADDRESS + ABOVE_LIMIT }, () => openSilent(server.port));
    try {
      const stillOpen = () =>
        connections.filter(({ seconds }) => seconds() === Number.POSITIVE_INFINITY).length;
      const waitUntil = async (open: number, maxS: number) => {
        while (performance.now() < startedAt + maxS * 1000 && stillOpen() > open) await sleep(50);
      };
      await waitUntil(PER_ADDRESS, FIRST_BYTE_MAX_S - 1);
      const atFirst = stillOpen();
      await waitUntil(0, CLOSED_MAX_S);
      const timedOut = connections.filter(({ text }) => text().startsWith('HTTP/1.1 408')).length;
      return [
        { what: 'silent connections: open at the same time', value: atFirst, atMost: PER_ADDRESS },
        { what: 'silent connections: answered with 408', value: timedOut, atLeast: SILENT },
        none(`silent connections: open after ${CLOSED_MAX_S} s`, stillOpen()),
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
