import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openVault } from '../../src/auth/vault.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { Database, Engine, Queries } from '../../src/database/database.ts';
import { createChannels } from '../../src/delivery/channels/merchantChannels.ts';
import { WEBHOOK } from '../../src/delivery/channels/registry.ts';
import { setOwnChannel } from '../../src/delivery/channels/settings.ts';
import { openWebhook, type WebhookSettings } from '../../src/delivery/channels/webhook/channel.ts';
import { DELIVERIES, type NewDelivery } from '../../src/delivery/queue/enqueue.ts';
import { sendMessages } from '../../src/delivery/worker/worker.ts';
import { type Runner, startJobs } from '../../src/jobs/runner.ts';
import { createLogger } from '../../src/log.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import { type Receiver, startReceiver, webhookEnv } from './receiver.ts';
import { enqueue } from './sending.ts';
import { type Deskbell, reportFailures, startDeskbell } from './server.ts';

/** A merchant whose messages go to its own receiver. */
export interface Shop {
  id: MerchantId;
  receiver: Receiver;
}

export const AURORA_ID = 1 as MerchantId;
export const BOREALIS_ID = 2 as MerchantId;

const SECRET = `whsec_${Buffer.alloc(24, 'shop').toString('base64')}`;

/** Gives a merchant its own webhook: a new merchant, unless one is given. */
export async function openShop(deskbell: Deskbell, merchantId?: MerchantId): Promise<Shop> {
  const { database, clock, config } = deskbell;
  const id = merchantId ?? ((await insertMerchant(database, 'A shop', clock.now())).id as MerchantId);
  const receiver = await startReceiver();
  const settings = { url: receiver.url, secret: SECRET, allowPrivate: true };
  const at = clock.now();
  await database.transaction((tx) =>
    setOwnChannel(tx, openVault(config), id, { type: WEBHOOK, settings }, at),
  );
  return { id, receiver };
}

/** A server whose clock is stopped, and the receiver of all its messages. */
export function useReceiver(engine: Engine, settings: Record<string, string> = {}) {
  const deskbell = {} as Deskbell;
  const receiver = { answer: accept } as Receiver;
  before(async () => {
    const started = await startReceiver();
    started.answer = (...call) => receiver.answer(...call);
    Object.assign(receiver, { ...started, answer: receiver.answer });
    Object.assign(deskbell, await startDeskbell(engine, { ...webhookEnv(started), ...settings }));
    deskbell.clock.stop();
  });
  reportFailures(deskbell);
  after(async () => {
    await deskbell.close?.();
    await receiver.close?.();
  });
  return { deskbell, receiver };
}

/** Ways in which a receiver can respond. */
export const accept: Receiver['answer'] = (response) => response.writeHead(204).end();
export const refuse: Receiver['answer'] = (response) => response.writeHead(503).end();
export const hang: Receiver['answer'] = () => {};

/** A different valid number for each n. */
export const phoneOf = (n: number) => `+34600${String(n).padStart(6, '0')}`;
export const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

type Put = Partial<NewDelivery> & Pick<NewDelivery, 'recipient'>;

/** Queues messages in this order, all in one transaction, and wakes the workers. Returns their ids. */
export async function putAll(
  { database, clock }: Pick<Deskbell, 'database' | 'clock'>,
  messages: readonly (Put & { merchantId: MerchantId })[],
): Promise<number[]> {
  const ids = await database.transaction(async (tx) => {
    const list: number[] = [];
    for (const { merchantId, ...message } of messages) {
      const delivery = { notificationId: 1, conversationId: 1, mode: 'reply', content: 'Yes.' } as const;
      list.push(await enqueue(tx, merchantId, { ...delivery, at: clock.now(), ...message }));
    }
    return list;
  });
  database.signal(DELIVERIES);
  return ids;
}

export async function until(what: string, isSo: () => unknown, forMs = 30_000): Promise<void> {
  for (const giveUpAt = Date.now() + forMs; Date.now() < giveUpAt; await sleep(5)) if (await isSo()) return;
  assert.fail(`this did not happen in ${forMs} ms: ${what}`);
}

/** On PostgreSQL: somebody waits for a lock of this transaction. SQLite writes one thing after the other. */
export const untilSomebodyWaits = (database: Database, tx: Queries): Promise<void> =>
  until('somebody waits for the lock', async () => {
    // PostgreSQL ends a transaction that does nothing for three seconds.
    await tx.all('select 1');
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await database.all(waiting)).length > 0;
  });

/**
 * A worker for a server with WORKER=false. While a receiver is silent, its webhook calls can have short time-outs, so
 * that tests do not wait. While it answers, only a long one does not depend on the speed of the machine.
 */
export function startWorkerWithTimeout(
  { database, config, clock }: Deskbell,
  timeoutMs: () => number,
): Runner {
  const now = clock.now;
  const known = createChannels({ database, vault: openVault(config), now }, config);
  const log = createLogger({ logLevel: 'warn', logPretty: false }, { write: () => {} });
  const jobs = sendMessages({
    database,
    channels: {
      ...known,
      async of(merchantId) {
        const { settings } = await known.describe(merchantId);
        const options = { timeoutMs: timeoutMs() };
        return { type: WEBHOOK, ...openWebhook(settings as WebhookSettings, { now }, options) };
      },
    },
    log,
    now,
    concurrency: config.workerConcurrency,
    onAttempt: () => {},
  });
  return startJobs(jobs, { database, log, now });
}
