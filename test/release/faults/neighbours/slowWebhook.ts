import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from '../../../support/process.ts';
import { call } from '../../../support/server.ts';
import { bodyWith, metaEnv, signed, slowCall } from '../../../support/stand-ins/meta.ts';
import { none } from '../fault.ts';
import type { Attack, Target } from './attack.ts';

const ADDRESSES = 200;
const AGAIN_MS = 4000;
const RUNS_MS = 12_000;
const LARGE_BYTES = 200_000;
const WEBHOOK = '/webhooks/whatsapp';

/** Many addresses send the first byte of a large body to the WhatsApp webhook, again and again. */
export const slowWebhook: Attack = {
  what: 'slow webhook calls',
  settings: { ...metaEnv({ url: 'http://127.0.0.1:9' }), TRUST_PROXY: '1' },
  async run(target) {
    await sendSigned(target, 0);
    const sockets = new Set<Socket>();
    const endsAt = performance.now() + RUNS_MS;
    const attack = async () => {
      for (; performance.now() < endsAt; await sleep(AGAIN_MS)) {
        for (let n = 1; n <= ADDRESSES; n += 1) sockets.add(await openSlow(target, `198.51.100.${n}`));
      }
    };
    const attacking = attack();
    let refused = 0;
    let longestMs = 0;
    for (; performance.now() < endsAt; await sleep(250)) {
      const startedAt = performance.now();
      if ((await sendSigned(target, LARGE_BYTES)) !== 200) refused += 1;
      longestMs = Math.max(longestMs, performance.now() - startedAt);
    }
    await attacking;
    for (const socket of sockets) socket.destroy();
    return [
      none('slow webhook calls: signed calls refused', refused),
      {
        what: 'slow webhook calls: longest wait of a signed call',
        value: longestMs,
        unit: 'ms',
        atMost: 1000,
      },
    ];
  },
};

async function sendSigned({ server: { url } }: Target, bytes: number): Promise<number> {
  const body = bodyWith({ statuses: [] }).padEnd(bytes);
  const headers = { ...signed(body)[1], 'x-forwarded-for': '203.0.113.1' };
  return (await call(url, 'POST', WEBHOOK, { body, headers })).status;
}

async function openSlow({ server: { port } }: Target, address: string): Promise<Socket> {
  return (await openConnection(port, slowCall(address))).socket;
}
