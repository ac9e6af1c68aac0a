import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach } from 'node:test';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { Engine, Queries } from '../../src/database/database.ts';
import { DELIVERIES } from '../../src/delivery/queue/enqueue.ts';
import { type DeliveryRow, enqueue, makeQueuesDue } from './sending.ts';
import { type Deskbell, startDeskbell } from './server.ts';
import { type Meta, metaEnv, startMeta } from './stand-ins/meta.ts';

/** A server whose channel is the Meta stand-in. Both use one clock, which is stopped during a test. */
export interface WhatsApp {
  deskbell: Deskbell;
  meta: Meta;
  /** Queues a message and returns its id. */
  put(recipient: string, options?: PutOptions): Promise<number>;
  /** Like `put`, and waits until nothing is due. */
  send(recipient: string, options?: PutOptions): Promise<number>;
  row(id: number): Promise<DeliveryRecord>;
  /** Advances the clock, and waits until everything due has been sent. */
  later(seconds: number): Promise<void>;
  /** Seconds until it is due. */
  dueIn(id: number): Promise<number>;
  /** A customer, by default a new one, writes, and what waited for it is sent. Returns the number. */
  customerWrites(phone?: string, message?: Record<string, unknown>): Promise<string>;
  /** Meta reports a status, which is processed. */
  report: Meta['report'];
  /** Waits until every webhook has arrived and nothing is due. */
  quiet(): Promise<void>;
}

interface PutOptions {
  mode?: 'reply' | 'campaign';
  content?: string;
  merchantId?: number;
  /** Claimed by a worker that has died. */
  abandoned?: boolean;
}

interface DeliveryRecord extends DeliveryRow {
  waiting_for: string | null;
  channel_message_id: string | null;
}

export function useWhatsApp(
  engine: Engine,
  settings: Record<string, string> = {},
  portfolioLimit = 10_000,
): WhatsApp {
  const now = () => whatsapp.deskbell?.clock.now() ?? new Date();
  const whatsapp: WhatsApp = {
    // Set before the first test.
    deskbell: undefined as never,
    meta: undefined as never,
    put(recipient, { mode = 'reply', content = 'At nine.', merchantId = 1, abandoned = false } = {}) {
      return whatsapp.deskbell.database.transaction(async (tx) => {
        const id = await enqueue(tx, merchantId as MerchantId, {
          notificationId: 1,
          conversationId: 1,
          recipient,
          mode,
          content,
          at: now(),
        });
        if (abandoned) await abandon(tx, id, now());
        return id;
      });
    },
    async send(recipient, options) {
      const id = await whatsapp.put(recipient, options);
      whatsapp.deskbell.database.signal(DELIVERIES);
      await whatsapp.quiet();
      return id;
    },
    async row(id) {
      const row = await whatsapp.deskbell.database.one<DeliveryRecord>(
        `select key, state, waiting_for, reason, attempts, due_at, last_code, channel_message_id
          from deliveries where id = $1`,
        [id],
      );
      assert.ok(row);
      return row;
    },
    async later(seconds) {
      await whatsapp.deskbell.clock.advance(seconds);
      await whatsapp.quiet();
    },
    async dueIn(id) {
      return (Date.parse((await whatsapp.row(id)).due_at) - now().getTime()) / 1000;
    },
    async customerWrites(phone = newPhone(), message = {}) {
      await whatsapp.meta.customerWrites(phone, message);
      await whatsapp.quiet();
      return phone;
    },
    async report(message, status, extra) {
      await whatsapp.meta.report(message, status, extra);
      await whatsapp.quiet();
    },
    async quiet() {
      await whatsapp.deskbell.allSent();
      await whatsapp.meta.reported();
      await whatsapp.deskbell.allSent();
    },
  };
  before(async () => {
    whatsapp.meta = await startMeta({ now, portfolioLimit });
    whatsapp.deskbell = await startDeskbell(engine, metaEnv(whatsapp.meta, settings));
    whatsapp.meta.webhookUrl = `${whatsapp.deskbell.url}/webhooks/whatsapp`;
  });
  beforeEach(() => whatsapp.deskbell.clock.stop());
  // WhatsApp limits the messages within a second.
  afterEach(async () => {
    whatsapp.deskbell.clock.go();
    await whatsapp.deskbell.clock.advance(1);
  });
  after(async () => {
    await whatsapp.deskbell?.close();
    await whatsapp.meta?.close();
  });
  return whatsapp;
}

let phones = 0;
/** A customer without any messages so far. */
export const newPhone = () => {
  phones += 1;
  return `+35466${String(phones).padStart(5, '0')}`;
};

/** The state of a delivery whose worker died after its claim. */
export async function abandon(queries: Queries, id: number, at: Date): Promise<void> {
  await queries.run(
    `update deliveries set state = 'sending', unsettled_since = null, attempts = attempts + 1, due_at = $2
      where id = $1`,
    [id, at.toISOString()],
  );
  await makeQueuesDue(queries, at);
}
