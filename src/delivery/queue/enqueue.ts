import { randomUUID } from 'node:crypto';
import type { Delivery } from '../../contract/delivery.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Database, Queries } from '../../database/database.ts';
import { storableText } from '../../database/text.ts';
import { placeOutlook } from '../quota.ts';

/** The queue of messages to customers: rows of `deliveries`, and nothing besides them. */

export type DeliveryState = Delivery['state'];

export interface NewDelivery {
  notificationId: number;
  conversationId: number;
  recipient: string;
  mode: 'reply' | 'campaign';
  content: string;
  at: Date;
}

export interface Outbox {
  /**
   * Steps that build on the answer's own: the message exists exactly if the answer does. Says also until when
   * it must wait for a place in the day's limit, where that is known already.
   */
  prepare(
    queries: Queries,
    merchantId: MerchantId,
    delivery: NewDelivery,
    after: string,
  ): Promise<{ steps: Step[]; waitsUntil: Date | undefined }>;
  /** To be called after the commit: some worker looks at once. */
  announce(): void;
}

/** Workers listen to this. */
export const DELIVERIES = 'deskbell_deliveries';

export function createOutbox(database: Database, defaultDailyLimit: number): Outbox {
  return {
    async prepare(queries, merchantId, delivery, after) {
      const recipient = phoneOf(delivery.recipient);
      const waitsUntil =
        delivery.mode === 'campaign'
          ? await placeOutlook(queries, merchantId, recipient, defaultDailyLimit, delivery.at)
          : undefined;
      return { steps: deliverySteps(merchantId, delivery, after), waitsUntil };
    },
    announce: () => database.signal(DELIVERIES),
  };
}

/** The message and its first event. */
export function deliverySteps(merchantId: MerchantId, delivery: NewDelivery, after?: string): Step[] {
  const at = delivery.at.toISOString();
  return [
    {
      name: 'delivery',
      after,
      sql: `insert into deliveries (merchant_id, key, notification_id, conversation_id, recipient, mode, content,
          needs_place, due_at, created_at, updated_at)
        select cast($1 as bigint), $2, cast($3 as bigint), cast($4 as bigint), $5, $6, $7, cast($8 as integer),
          $9, $9, $9 ${after ? `from ${after}` : ''}
        returning id`,
      params: [
        merchantId,
        randomUUID(),
        delivery.notificationId,
        delivery.conversationId,
        phoneOf(delivery.recipient),
        delivery.mode,
        storableText(delivery.content),
        delivery.mode === 'campaign' ? 1 : 0,
        at,
      ],
    },
    {
      name: 'delivery_event',
      after: 'delivery',
      sql: `insert into delivery_events (merchant_id, delivery_id, at, state)
        select cast($1 as bigint), id, $2, 'queued' from delivery`,
      params: [merchantId, at],
    },
  ];
}

/** `+` and digits where it is a telephone number; else as it came, and the channel says what is wrong. */
export function phoneOf(given: string): string {
  const digits = given.replace(/[\s().-]/g, '').replace(/^00/, '+');
  return /^\+?\d{4,20}$/.test(digits) ? `+${digits.replace('+', '')}` : storableText(given).slice(0, 64);
}

export interface Claimed {
  id: number;
  merchant_id: MerchantId;
  key: string;
  notification_id: number;
  conversation_id: number;
  recipient: string;
  mode: 'reply' | 'campaign';
  content: string;
  attempts: number;
  /** 1 when its last holder left without a word, and the channel's echo was not waited for yet. */
  taken_over: number;
  /** The end of the lease: with `attempts` it names this claim and no other. */
  due_at: string;
}

const OPEN = `('queued', 'sending', 'waiting')`;
/**
 * A message never overtakes an earlier one to the same customer. A scalar subquery is one look into the index
 * for each row; PostgreSQL turned `not exists` into a join of the queue with itself: with 1,000 due and no
 * fresh statistics 180 ms, and four times that with twice as many.
 */
const FIRST_IN_LINE = `d.state in ${OPEN} and d.id = (
  select min(e.id) from deliveries e
    where e.merchant_id = d.merchant_id and e.recipient = d.recipient and e.state in ${OPEN})`;

/**
 * Takes up to `max` deliveries that are due, for as long as the lease. One whose lease has run out is due
 * again: its holder is gone.
 */
export function claim(
  queries: Queries,
  { max, at, leaseUntil }: { max: number; at: Date; leaseUntil: Date },
): Promise<Claimed[]> {
  // SQLite writes one at a time; on PostgreSQL workers step over each other's rows.
  const skipping = queries.engine === 'postgres' ? 'for update skip locked' : '';
  // Materialized: a plan that ran the selection twice would lock, and take, more than `max`.
  return queries.run<Claimed>(
    `with due (merchant, delivery) as materialized (
        select d.merchant_id, d.id from deliveries d where d.due_at <= $1 and ${FIRST_IN_LINE}
        order by d.due_at, d.id limit $3 ${skipping})
      update deliveries set
        taken_over = case when state = 'sending' and unsettled_since is null then 1 else 0 end,
        unsettled_since = null, state = 'sending', attempts = attempts + 1, due_at = $2, updated_at = $1
      from due where merchant_id = due.merchant and id = due.delivery
      returning id, merchant_id, key, notification_id, conversation_id, recipient, mode, content, attempts,
        taken_over, due_at`,
    [at.toISOString(), leaseUntil.toISOString(), max],
  );
}

/** When the next delivery is due, if any is. One that may not overtake another is not. */
export async function nextDueAt(queries: Queries): Promise<string | undefined> {
  const row = await queries.one<{ due_at: string }>(
    `select d.due_at from deliveries d where ${FIRST_IN_LINE} order by d.due_at limit 1`,
  );
  return row?.due_at;
}

export interface Settlement {
  state: DeliveryState;
  dueAt?: Date;
  waitingFor?: 'limit' | 'customer';
  reason?: string;
  code?: string;
  messageId?: string | undefined;
  /** Nobody knows whether this attempt went out. */
  unsettled?: boolean;
  /** It was not an attempt: nothing was sent. */
  uncounted?: boolean;
}

/**
 * Writes what came of an attempt, if this worker still holds it: a status that overtook the channel's own
 * answer, or another worker after a lost lease, has already written more.
 */
export async function settle(
  tx: Queries,
  { id, merchant_id: merchantId, attempts, due_at: lease }: Claimed,
  change: Settlement,
  at: Date,
): Promise<boolean> {
  const time = at.toISOString();
  const rows = await tx.run(
    `update deliveries set state = $4, due_at = $5, waiting_for = $6, reason = $7, last_code = $8,
        channel_message_id = coalesce($9, channel_message_id), unsettled_since = $10, taken_over = 0,
        attempts = attempts - $11, updated_at = $12
      where merchant_id = $1 and id = $2 and state = 'sending' and attempts = $3 and due_at = $13
      returning id`,
    [
      merchantId,
      id,
      attempts,
      change.state,
      (change.dueAt ?? at).toISOString(),
      change.waitingFor ?? null,
      change.reason ?? null,
      change.code ?? null,
      change.messageId ?? null,
      change.unsettled ? time : null,
      change.uncounted ? 1 : 0,
      time,
      lease,
    ],
  );
  if (rows.length === 0) return false;
  await addEvent(tx, merchantId, id, {
    at: time,
    state: change.state,
    code: change.code,
    note: change.reason,
    // Looked at and put back as it was: nothing happened.
    onlyIfNew: change.uncounted,
  });
  return true;
}

interface DeliveryEvent {
  at: string;
  state: DeliveryState;
  code?: string | undefined;
  note?: string | undefined;
  onlyIfNew?: boolean | undefined;
}

export async function addEvent(
  tx: Queries,
  merchantId: MerchantId,
  deliveryId: number,
  { at, state, code, note, onlyIfNew }: DeliveryEvent,
): Promise<void> {
  const known = `where not exists (
    select 1 from delivery_events where id = (
        select max(id) from delivery_events where merchant_id = $1 and delivery_id = $2)
      and merchant_id = $1 and delivery_id = $2 and state = $4
      and coalesce(code, '') = coalesce($5, '') and coalesce(note, '') = coalesce($6, ''))`;
  await tx.run(
    `insert into delivery_events (merchant_id, delivery_id, at, state, code, note)
      select cast($1 as bigint), cast($2 as bigint), $3, $4, $5, $6 ${onlyIfNew ? known : ''}`,
    [merchantId, deliveryId, at, state, code ?? null, note ?? null],
  );
}
