import { request } from 'node:http';
import { none } from '../fault.ts';
import type { Attack, Target } from './attack.ts';

const STREAMS_PER_USER = 20;
const AT_ONCE = 50;

/** One token opens as many event streams as it can, and keeps all of them. */
export const eventStreams: Attack = {
  what: 'event streams',
  async run({ server, token }) {
    const count = 3000;
    const streams: Opened[] = [];
    try {
      for (let n = 0; n < count; n += AT_ONCE) {
        streams.push(
          ...(await Promise.all(Array.from({ length: AT_ONCE }, () => openStream(server, token)))),
        );
      }
      const withStatus = (wanted: number) => streams.filter(({ status }) => status === wanted).length;
      return [
        {
          what: 'event streams: accepted',
          value: withStatus(200),
          atLeast: STREAMS_PER_USER,
          atMost: STREAMS_PER_USER,
        },
        {
          what: 'event streams: refused with 429',
          value: withStatus(429),
          atLeast: count - STREAMS_PER_USER,
        },
        none(
          'event streams: refused without Retry-After',
          streams.filter(({ status, retryAfter }) => status === 429 && !retryAfter).length,
        ),
      ];
    } finally {
      for (const { close } of streams) close();
    }
  },
};

interface Opened {
  status: number;
  retryAfter: string | undefined;
  close(): void;
}

function openStream({ port }: Target['server'], token: string): Promise<Opened> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const opening = request({ port, host: '127.0.0.1', path: '/api/v1/events', headers, agent: false });
    opening.on('response', (response) => {
      response.resume();
      const { statusCode: status = 0, headers: received } = response;
      resolve({ status, retryAfter: received['retry-after'], close: () => opening.destroy() });
    });
    opening.on('error', () => resolve({ status: 0, retryAfter: undefined, close() {} }));
    opening.end();
  });
}
