import type { Logger } from 'pino';
import type { MerchantId } from '../../../contract/ids.ts';
import {
  CHANGES,
  type Database,
  DatabaseUnavailable,
  type Queries,
  type Transaction,
} from '../../../database/database.ts';
import { inSlices } from '../../../http/limits/slices.ts';
import type { OnFailed } from '../../failures.ts';
import { phoneOrText } from '../../phone.ts';
import { wasAttemptedThrough } from '../../queue/events.ts';
import { merchantsWaitingFor, releaseWaitingFor } from '../../queue/release.ts';
import { type Outcome, settle } from '../../queue/settle.ts';
import { advance, findByKey, findByMessageId, type ReportedDelivery, reopen } from '../../queue/statuses.ts';
import { settlementOf } from '../../worker/outcome.ts';
import { refusedStop, stopChannel } from '../../worker/stops.ts';
import type { CustomerMessages } from '../channel.ts';
import type { Channels } from '../merchantChannels.ts';
import { classify } from './errors.ts';
import { type Update, updateName } from './updates.ts';
import { closeWindow, type Opened, openWindows } from './windows.ts';

/** Updates from a channel's webhook: stored before they are acknowledged, processed afterwards. */

export interface InboundParts {
  database: Database;
  channels: Channels;
  customerMessages: CustomerMessages;
  log: Logger;
  now: () => Date;
  /** Called when a message has failed for good. */
  onFailed?: OnFailed;
}

const AT_ONCE = 100;
/**
 * How many updates are processed at the same time, in any order. One at a time, with a commit for each, would delay
 * sending. On PostgreSQL each one takes a connection that requests cannot use.
 */
const TOGETHER = { sqlite: 20, postgres: 2 };

interface Row {
  id: string;
  channel_id: string;
  payload: string;
}

interface Received {
  channelId: string;
  update: Update;
}

/** Takes a few milliseconds. A body contains up to a thousand, and must be answered within 250 ms. */
const STORED_AT_ONCE = 100;

/**
 * Stores updates, and opens the windows of the customers who wrote. Returns how many updates were new. If only some were
 * stored, the body is not acknowledged, and comes again.
 */
export async function storeUpdates(
  database: Database,
  received: readonly Received[],
  at: Date,
): Promise<number> {
  const pause = inSlices();
  let added = 0;
  for (let from = 0; from < received.length; from += STORED_AT_ONCE) {
    const piece = received.slice(from, from + STORED_AT_ONCE);
    const opened: Opened[] = [];
    for (const { channelId, update } of piece) {
      if (update.kind !== 'message') continue;
      opened.push({ channelId, phone: phoneOrText(update.phone), openedAt: update.at });
      await pause();
    }
    added += await storeTogether(database, piece, opened, at);
  }
  return added;
}

function storeTogether(
  database: Database,
  received: readonly Received[],
  opened: readonly Opened[],
  at: Date,
): Promise<number> {
  const rows = received.map(({ channelId, update }) => ({
    id: updateName(channelId, update),
    channel_id: channelId,
    payload: JSON.stringify(update),
  }));
  return database.transaction(async (tx) => {
    const list =
      tx.engine === 'postgres'
        ? 'jsonb_array_elements($1::jsonb) as received (value)'
        : 'json_each($1) as received';
    const added = await tx.run(
      `insert into inbound_updates (id, channel_id, payload, received_at)
        select value ->> 'id', value ->> 'channel_id', value ->> 'payload', $2 from ${list} where true
        on conflict (id) do nothing returning id`,
      [JSON.stringify(rows), at.toISOString()],
    );
    // Here, not in later processing: an answer right after the customer's message must find the window open.
    await openWindows(tx, opened);
    return added.length;
  });
}

/** Processes stored updates, oldest first. Any number of workers may do it. Returns how many it processed. */
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
      if (update.kind === 'message') await processMessage(parts, row, update);
      else await processStatus(parts, row, update);
      done += 1;
    } catch (err) {
      // The other updates would fail too, after the same wait.
      if (err instanceof DatabaseUnavailable) throw err;
      log.warn({ err, channel: row.channel_id }, 'cannot process an update; will retry');
      // Moves it to the end: an update that cannot be processed must not delay the others.
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

/** Like Promise.all, but waits until all have ended, so that nothing still runs when it throws. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
}

/** Runs `effects` and marks the update as done, all or nothing. Skips an update that another worker has or has done. */
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
    // The row stays, so that a repeated update is recognised. What the customer wrote does not.
    await tx.run(`update inbound_updates set done_at = $2, payload = '' where id = $1`, [
      id,
      now().toISOString(),
    ]);
  });
}

/**
 * Stores the message in the customer's conversations, and releases what waited for it. The window was opened when the
 * update was stored. A worker that makes a message wait checks the window once more.
 */
async function processMessage(
  parts: InboundParts,
  row: Row,
  update: Extract<Update, { kind: 'message' }>,
): Promise<void> {
  const { database, channels, customerMessages, now } = parts;
  const { id: messageId, text } = update;
  const phone = phoneOrText(update.phone);
  // Another merchant, with another number, may have the same customer.
  const usesChannel = async (merchantId: MerchantId) => (await channels.of(merchantId)).id === row.channel_id;
  const conversations = text === undefined ? [] : await customerMessages.conversationsWith(database, phone);
  const receivers = await filterAsync(conversations, ({ merchantId }) => usesChannel(merchantId));
  const waiting = await filterAsync(await merchantsWaitingFor(database, phone), usesChannel);
  await once(parts, row, async (tx) => {
    for (const { merchantId, conversationId } of receivers) {
      const message = { conversationId, messageId, text: text!, writtenAt: new Date(update.at), at: now() };
      await customerMessages.receive(tx, merchantId, message);
    }
    for (const merchantId of waiting) await releaseWaitingFor(tx, merchantId, phone, now());
  });
}

/** One after another: each may be a read from the database. */
async function filterAsync<T>(items: readonly T[], test: (item: T) => Promise<boolean>): Promise<T[]> {
  const kept: T[] = [];
  for (const item of items) if (await test(item)) kept.push(item);
  return kept;
}

async function processStatus(
  parts: InboundParts,
  row: Row,
  update: Extract<Update, { kind: 'status' }>,
): Promise<void> {
  const { database, now } = parts;
  const { id: messageId, status, key, code } = update;
  const delivery =
    (key === undefined ? undefined : await findByKey(database, key)) ??
    (await findByMessageId(database, messageId));
  const isOurs = delivery && (await wentThrough(parts, delivery, row.channel_id));
  await once(parts, row, async (tx) => {
    // Not a message of ours, or one that another number claims to have sent.
    if (!delivery || !isOurs) return;
    const { merchant_id: merchantId } = delivery;
    if (status !== 'failed') {
      // "sent" may come after "failed": the message still failed, and may already be sent again.
      if (status === 'sent' && (await hasFailed(tx, row.channel_id, messageId))) return;
      await advance(tx, merchantId, [delivery.id], { state: status, at: now(), messageId });
      return;
    }
    const claimed = await reopen(tx, delivery, { messageId, channelId: row.channel_id }, now());
    if (!claimed) return;
    const result = classify(code, undefined, claimed.attempts);
    if (result.outcome === 'window_closed')
      await closeWindow(tx, row.channel_id, claimed.recipient, update.at);
    if (result.outcome === 'channel_stopped') await stopAfterStatus(tx, parts, row.channel_id, result);
    const type = parts.channels.typeOf(row.channel_id)!;
    const context = { type, attempts: claimed.attempts, at: now(), random: Math.random() };
    const outcome = { delivery: claimed, settlement: settlementOf(result, context) };
    await settle(tx, merchantId, [outcome], now());
    if (outcome.settlement.state === 'failed')
      tx.afterCommit(() => reportFailed(parts, row.channel_id, outcome));
  });
}

function reportFailed(
  { channels, onFailed }: InboundParts,
  channelId: string,
  { delivery, settlement }: Outcome,
): void {
  onFailed?.({
    merchantId: delivery.merchant_id,
    deliveryId: delivery.id,
    conversationId: delivery.conversation_id,
    channel: channels.typeOf(channelId)!.name,
    code: settlement.code,
  });
}

/** Whether an attempt went through this channel. Old deliveries have no channel: then the merchant's own counts. */
async function wentThrough(
  { database, channels }: InboundParts,
  { merchant_id: merchantId, id, channel_id }: ReportedDelivery,
  channelId: string,
): Promise<boolean> {
  if (channel_id === null) return (await channels.of(merchantId)).id === channelId;
  return channel_id === channelId || wasAttemptedThrough(database, merchantId, id, channelId);
}

async function stopAfterStatus(
  tx: Transaction,
  { log, now }: InboundParts,
  channelId: string,
  { code, reason }: { code: string; reason: string },
): Promise<void> {
  log.error({ channel: channelId, code, reason }, 'the channel is stopped');
  await stopChannel(tx, refusedStop(channelId, code, now()), now());
}

async function hasFailed(tx: Queries, channelId: string, messageId: string): Promise<boolean> {
  const name = updateName(channelId, { kind: 'status', id: messageId, status: 'failed' });
  const row = await tx.one('select id from inbound_updates where id = $1 and done_at is not null', [name]);
  return row !== undefined;
}
