import { randomUUID } from 'node:crypto';
import { openVault } from '../../src/auth/vault.ts';
import { readConfig } from '../../src/config.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { Engine, Queries, Transaction } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Channel } from '../../src/delivery/channels/channel.ts';
import { createChannels } from '../../src/delivery/channels/merchantChannels.ts';
import { insertMessage, type NewDelivery, readAddress } from '../../src/delivery/queue/enqueue.ts';
import { sendMessages, type WorkerParts } from '../../src/delivery/worker/worker.ts';
import { startJobs } from '../../src/jobs/runner.ts';
import { createLogger } from '../../src/log.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import { createTestDatabase, type TestDatabase } from './databases.ts';
import { type Clock, createClock } from './server.ts';

export interface DeliveryRow {
  key: string;
  state: string;
  reason: string | null;
  attempts: number;
  due_at: string;
  last_code: string | null;
}

export const PHONE = '+3545550101';
export const TEXT = 'Yes, we have a Colombian decaf.';

/** Makes workers check every merchant's queue, after a test has changed when messages are due. */
export async function makeQueuesDue(queries: Queries, at: Date): Promise<void> {
  // With a new version, so that a worker that has just read the queue does not postpone it again.
  await queries.run('update delivery_queues set due_at = $1, version = $2', [at.toISOString(), randomUUID()]);
}

type Sent = Omit<NewDelivery, 'reference' | 'context' | 'country'> & Partial<NewDelivery>;

/** Does the same as an answer. */
export function enqueue(tx: Transaction, merchantId: MerchantId, given: Sent): Promise<number> {
  const delivery: NewDelivery = { reference: null, context: '{}', country: null, ...given };
  return insertMessage(tx, merchantId, delivery, readAddress(delivery, undefined));
}

export type Sending = Awaited<ReturnType<typeof startSending>>;

/**
 * The queue, the worker and the channels without a server, with two merchants and a test clock. `channel` replaces the
 * channels from the settings.
 */
export async function startSending(
  engine: Engine,
  {
    settings = {},
    channel,
    ...observing
  }: {
    settings?: Record<string, string>;
    channel?: (now: () => Date) => Channel;
  } & Partial<Pick<WorkerParts, 'onAttempt' | 'tracer'>> = {},
) {
  const testDatabase: TestDatabase = await createTestDatabase(engine);
  const env = { ...testDatabase.env, ...settings };
  const config = readConfig(env);
  const database = await openDatabase(config, 'serve');
  const vault = openVault(config);
  const clock: Clock = createClock(() => worker.idle());
  await migrate(database, clock.now);
  for (const name of ['Aurora', 'Borealis']) await insertMerchant(database, name, clock.now());

  /** Every line that was logged. */
  const logged: string[] = [];
  const log = createLogger({ logLevel: 'trace', logPretty: false }, { write: (line) => logged.push(line) });
  const known = createChannels({ database, vault, now: clock.now }, config);
  const fixed = channel?.(clock.now);
  const channels = fixed ? { ...known, of: async () => fixed } : known;
  const jobs = sendMessages({
    database,
    channels,
    log,
    now: clock.now,
    onAttempt: () => {},
    concurrency: config.workerConcurrency,
    ...observing,
  });
  const worker = startJobs(jobs, { database, log, now: clock.now });

  return {
    env,
    database,
    vault,
    worker,
    clock,
    logged,
    /** Puts a message into the queue and returns its id. */
    async put(merchantId: MerchantId, change: Partial<NewDelivery> = {}) {
      const delivery: Sent = {
        notificationId: 12,
        conversationId: 3,
        recipient: PHONE,
        mode: 'reply',
        content: TEXT,
        at: clock.now(),
        ...change,
      };
      const id = await database.transaction((tx) => enqueue(tx, merchantId, delivery));
      worker.wake();
      return id;
    },
    async row(id: number) {
      const row = await database.one<DeliveryRow>(
        'select key, state, reason, attempts, due_at, last_code from deliveries where id = $1',
        [id],
      );
      if (!row) throw new Error(`there is no delivery ${id}`);
      return row;
    },
    /** Advances the clock, then sends all messages that are due. */
    async settle(seconds = 0) {
      await clock.advance(seconds);
      await worker.idle();
    },
    async close() {
      await worker.stop();
      await database.close();
      await testDatabase.remove();
    },
  };
}
