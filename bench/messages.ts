import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from './instance.ts';

export async function waitUntilSent(serverUrl: string): Promise<void> {
  while ((await unsentMessages(serverUrl)) > 0) await sleep(100);
}

/** Messages that are still to be sent, as the server's metrics count them. */
async function unsentMessages(serverUrl: string): Promise<number> {
  const metrics = await (await fetch(`${serverUrl}/metrics`)).text();
  return Number(/^deskbell_deliveries_open (\d+)$/m.exec(metrics)![1]);
}

export const countSent = (instance: Pick<Instance, 'query'>): Promise<number> =>
  instance.query(async (database) => {
    const row = await database.one<{ sent: number }>(
      `select count(*) as sent from deliveries where state in ('sent', 'delivered', 'read')`,
    );
    return row!.sent;
  });
