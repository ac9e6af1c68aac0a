import type { Logger } from 'pino';
import type { MerchantId } from '../../../contract/ids.ts';
import {
  CHANGES,
  type Database,
  DatabaseUnavailable,
  type Queries,
  type Transaction,
} from '../../../database/database.ts';
import type { Claimed } from '../../queue/enqueue.ts';
import { applyResult } from '../../queue/settle.ts';
import { advance, type DeliveryRow, findByKey, findByMessageId } from '../../queue/statuses.ts';
import type { Channels } from '../merchantChannels.ts';
import { classify } from './errors.ts';
import { type Update, updateName } from './updates.ts';

/** What a channel's webhook brings: written down before it is acknowledged, worked on afterwards. */

export interface InboundParts {
  database: Database;
  channels: Channels;
  log: Logger;
  now: () => Date;
}

const AT_ONCE = 100;
/**
 * In any order, as they come: one after another, a commit each, they would hold up the sending. On PostgreSQL
 * each is a connection that no request has meanwhile.
 */
const TOGETHER = { sqlite: 20, postgres: 2 };
/** Meta repeats for seven days what was not acknowledged. */
const KEPT_MS = 8 * 24 * 60 * 60_000;
/** Only for the transaction that settles it: nobody holds it longer. */
const LEASE_MS = 20_000;

interface Row {
  id: string;
  channel_id: string;
  payload: string;
}

/** Gives how many of them were new. */
export async function storeUpdates(
  queries: Queries,
  received: readonly { channelId: string; update: Update }[],
  at: Date,
): Promise<number> {
  const rows = received.map(({ channelId, update }) => ({
    id: updateName(channelId, update),
    channel_id: channelId,
    payload: JSON.stringify(update),
  }));
  // One statement for all: a body brings up to a thousand, and is answered within 250 ms.
  const list =
    queries.engine === 'postgres'
      ? 'jsonb_array_elements($1::jsonb) as received (value)'
      : 'json_each($1) as received';
  const added = await queries.run(
    `insert into inbound_updates (id, channel_id, payload, received_at)
      select value ->> 'id', value ->> 'channel_id', value ->> 'payload', $2 from ${list} where true
      on conflict (id) do nothing returning id`,
    [JSON.stringify(rows), at.toISOString()],
  );
  return added.length;
}

/** Works on what has come in, the oldest first. Any number of workers may. Gives how many it did. */
export async function processInbound(parts: InboundParts): Promise<number> {
  const { database, log } = parts;
  const rows = await database.all<Row>(
    `select id, channel_id, payload from inbound_updates where done_at is null order by received_at limit $1`,
    [AT_ONCE],
  );
  let done = 0;
  const work = async (row: Row) => {
    try {
      const update = JSON.parse(row.payload) as Update;
      if (update.kind === 'message') await workOnMessage(parts, row, update);
      else await workOnStatus(parts, row, update);
      done += 1;
    } catch (err) {
      // The others would fare no better, and each would wait for it anew.
      if (err instanceof DatabaseUnavailable) throw err;
      log.warn({ err, channel: row.channel_id }, 'an update cannot be worked on; it is tried again');
      // Behind the others: one that cannot be worked on must not hold them up.
      await database
        .run('update inbound_updates set received_at = $2 where id = $1', [row.id, parts.now().toISOString()])
        .catch(() => {});
    }
  };
  const together = TOGETHER[database.engine];
  try {
    for (let n = 0; n < rows.length; n += together) await allOf(rows.slice(n, n + together).map(work));
  } finally {
    if (done > 0) database.signal(CHANGES);
  }
  return done;
}

/** As Promise.all, but not before each has ended: nothing is left to go on behind a worker's back. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
}

/** Runs `effects` and marks the update done, all or nothing, unless another worker has it or had it. */
function once(
  { database, now }: InboundParts,
  { id }: Row,
  effects: (tx: Transaction) => Promise<void>,
): Promise<void> {
  return database.transaction(async (tx) => {
    const skipping = tx.engine === 'postgres' ? 'for update skip locked' : '';
    const open = await tx.one(
      `select id from inbound_updates where id = $1 and done_at is null ${skipping}`,
      [id],
    );
    if (!open) return;
    await effects(tx);
    await tx.run('update inbound_updates set done_at = $2 where id = $1', [id, now().toISOString()]);
  });
}

async function workOnMessage(
  parts: InboundParts,
  row: Row,
  { phone, at }: Extract<Update, { kind: 'message' }>,
): Promise<void> {
  const { database, channels, now } = parts;
  // Committed before anybody is released: a worker that parks a message meanwhile looks at the window after
  // it has parked it, so one of the two sees the other.
  await database.run(
    `insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)
      on conflict (channel_id, phone) do update set opened_at = excluded.opened_at
        where excluded.opened_at > customer_windows.opened_at`,
    [row.channel_id, phone, at],
  );
  const waiting = await database.all<{ merchant_id: MerchantId }>(
    `select distinct merchant_id from deliveries
      where state = 'waiting' and waiting_for = 'customer' and recipient = $1`,
    [phone],
  );
  const merchants: MerchantId[] = [];
  for (const { merchant_id: merchantId } of waiting) {
    // The same customer may be another merchant's too, who has another number.
    if ((await channels.of(merchantId)).id === row.channel_id) merchants.push(merchantId);
  }
  await once(parts, row, async (tx) => {
    for (const merchantId of merchants) {
      await tx.run(
        `update deliveries set due_at = $3 where merchant_id = $1 and recipient = $2
          and state = 'waiting' and waiting_for = 'customer'`,
        [merchantId, phone, now().toISOString()],
      );
    }
  });
}

async function workOnStatus(
  parts: InboundParts,
  row: Row,
  update: Extract<Update, { kind: 'status' }>,
): Promise<void> {
  const { database, channels, log, now } = parts;
  const { id: messageId, status, key, code } = update;
  const delivery =
    (key === undefined ? undefined : await findByKey(database, key)) ??
    (await findByMessageId(database, messageId));
  const channel = delivery && (await channels.of(delivery.merchant_id));
  await once(parts, row, async (tx) => {
    // Not a message of ours, or one that another number claims to have sent.
    if (!delivery || channel?.id !== row.channel_id) return;
    if (status !== 'failed') {
      // "sent" may come behind "failed": that message is gone all the same, and may be under way anew.
      if (status === 'sent' && (await hasFailed(tx, row.channel_id, messageId))) return;
      await advance(tx, delivery, status, now(), messageId);
      return;
    }
    const claimed = await reopen(tx, delivery, messageId, now());
    if (!claimed) return;
    const result = classify(code, undefined, claimed.attempts);
    await applyResult(
      { database: { run: tx.run, transaction: (work) => work(tx) }, log, now },
      channel,
      claimed,
      result.outcome === 'window_closed' ? { ...result, asOf: update.at } : result,
    );
  });
}

async function hasFailed(tx: Queries, channelId: string, messageId: string): Promise<boolean> {
  const name = updateName(channelId, { kind: 'status', id: messageId, status: 'failed' });
  const row = await tx.one('select id from inbound_updates where id = $1 and done_at is not null', [name]);
  return row !== undefined;
}

/**
 * Takes a delivery back into hand whose message failed after all, to settle it like an attempt. Only the
 * message of its last attempt counts; that one may not be known yet, where the status overtook the send's
 * own answer or that answer was lost.
 */
async function reopen(
  tx: Queries,
  { merchant_id: merchantId, id }: DeliveryRow,
  messageId: string,
  at: Date,
): Promise<Claimed | undefined> {
  const lease = new Date(at.getTime() + LEASE_MS);
  const [claimed] = await tx.run<Claimed>(
    `update deliveries set state = 'sending', due_at = $4, channel_message_id = null, updated_at = $5
      where merchant_id = $1 and id = $2 and state in ('sending', 'sent')
        and (channel_message_id = $3 or channel_message_id is null)
      returning id, merchant_id, key, notification_id, conversation_id, recipient, mode, content, attempts,
        taken_over, due_at`,
    [merchantId, id, messageId, lease.toISOString(), at.toISOString()],
  );
  return claimed;
}

/** Updates that nobody will repeat, and windows long closed. */
export async function removeOldUpdates(database: Database, at: Date): Promise<void> {
  const before = new Date(at.getTime() - KEPT_MS).toISOString();
  await database.run('delete from inbound_updates where done_at < $1', [before]);
  await database.run('delete from customer_windows where opened_at < $1', [before]);
}
