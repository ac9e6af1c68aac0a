import { randomUUID } from 'node:crypto';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Engine, Queries, Transaction } from '../../database/database.ts';
import { inSelect, ownIdIn } from '../../database/ids.ts';
import { bytesSql } from '../../database/tables.ts';
import { DELIVERIES } from '../tables.ts';
import { cancel } from './control/cancel.ts';
import { removeDeliveries } from './endpointEvents.ts';
import { lockLanes, releaseAndRecord } from './release.ts';
import { ENDPOINT, NEVER, TAKEN_BACK } from './table.ts';

/** A customer's messages, and the number wherever this feature has it. */

/** In one transaction. A customer with more open messages is rare, and no worker claims the rest: see `isNotErased`. */
const CANCELLED_MAX = 1000;

/** Nothing that waits is sent any more. What is being sent stays as it is. */
export async function cancelOpen(
  tx: Transaction,
  merchantId: MerchantId,
  conversationIds: readonly number[],
  at: Date,
): Promise<void> {
  const ids: number[] = [];
  // Without an index of states, so that they are found by their conversation.
  for (const conversationId of conversationIds) {
    const rows = await tx.all<{ id: number }>(
      `select id from deliveries where merchant_id = $1 and conversation_id = $2 and endpoint_id = 0
          and coalesce(state, '') in ('queued', 'waiting') limit $3`,
      [merchantId, conversationId, CANCELLED_MAX - ids.length],
    );
    ids.push(...rows.map(({ id }) => id));
  }
  if (ids.length > 0) await cancel(tx, merchantId, ids, at, TAKEN_BACK);
}

interface Removed {
  id: number;
  key: string;
  recipient: string;
  mode: 'reply' | 'campaign';
  channel_id: string | null;
}

export interface ErasedDeliveries {
  count: number;
  recipients: string[];
  channelIds: string[];
  /** What they took of the merchant's storage. */
  bytes: number;
}

/**
 * Removes messages of one conversation, also from test phones. One that is being sent stays until that is over: its
 * worker still writes down where it sends it.
 */
export async function eraseDeliveries(
  tx: Transaction,
  merchantId: MerchantId,
  conversationId: number,
  { at, limit }: { at: Date; limit: number },
): Promise<ErasedDeliveries> {
  const time = at.toISOString();
  await lockLanes(tx, merchantId);
  const rows = await tx.run<Removed & { bytes: number }>(
    `delete from deliveries where merchant_id = $1 and (state <> 'sending' or due_at <= $3) and id in (
        select id from deliveries where merchant_id = $1 and conversation_id = $2 and endpoint_id = 0
          and (state <> 'sending' or due_at <= $3) order by created_at, id limit $4)
      returning id, key, recipient, mode, channel_id, ${bytesSql(DELIVERIES)} as bytes`,
    [merchantId, conversationId, time, limit],
  );
  if (rows.length > 0) {
    await tx.run(`delete from delivery_events where ${ownIdIn(tx, '$1', '$2', 'delivery_id')}`, [
      merchantId,
      rows.map(({ id }) => id),
    ]);
    await tx.run(`delete from simulator_messages where ${ownIdIn(tx, '$1', '$2', 'delivery_key', 'text')}`, [
      merchantId,
      rows.map(({ key }) => key),
    ]);
    // Somebody else may have the same number: their next message is no longer blocked.
    await releaseAndRecord(tx, merchantId, { lanes: lanesOf(rows), events: [], dueAt: NEVER, at });
  }
  return {
    count: rows.length,
    recipients: [...new Set(rows.map(({ recipient }) => recipient))],
    channelIds: [...new Set(rows.flatMap(({ channel_id }) => channel_id ?? []))],
    bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

const lanesOf = (rows: readonly Removed[]) => [
  ...new Map(rows.map(({ recipient, mode }) => [`${mode} ${recipient}`, { recipient, mode }])).values(),
];

/** Whether a message of this conversation is left: it is being sent. */
export async function hasDeliveries(
  queries: Queries,
  merchantId: MerchantId,
  conversationId: number,
): Promise<boolean> {
  const sql = `select id from deliveries where merchant_id = $1 and conversation_id = $2 and endpoint_id = 0 limit 1`;
  return (await queries.one(sql, [merchantId, conversationId])) !== undefined;
}

const PAGE = 200;

/** Removes events for webhook endpoints and alerts for devices that are about a person. */
export async function eraseEndpointDeliveries(
  database: Database,
  merchantId: MerchantId,
  isTheirs: (contents: readonly string[]) => Promise<boolean[]>,
  pause: () => Promise<void>,
): Promise<void> {
  for (let endpointId = 0; ; ) {
    const next = await database.one<{ endpoint_id: number }>(
      `select endpoint_id from deliveries where merchant_id = $1 and endpoint_id > 0 and endpoint_id > $2
        order by endpoint_id limit 1`,
      [merchantId, endpointId],
    );
    if (!next) return;
    endpointId = next.endpoint_id;
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const rows = await database.all<{ id: number; content: string }>(
        `select id, content from deliveries where merchant_id = $1 and endpoint_id > 0 and endpoint_id = $2 and id < $3
          order by id desc limit ${PAGE}`,
        [merchantId, endpointId, before],
      );
      const theirs = await isTheirs(rows.map(({ content }) => content));
      const ids = rows.filter((_, index) => theirs[index]).map(({ id }) => id);
      if (ids.length > 0) await database.transaction((tx) => removeDeliveries(tx, merchantId, ids));
      if (rows.length < PAGE) break;
      before = rows.at(-1)!.id;
      await pause();
    }
  }
}

/** What is known about a number up to a time. What is newer is of a customer who has written again since. */
export interface KnownUntil {
  phone: string;
  until: Date;
}

/** That somebody was reached today still counts towards the daily limit, but no longer who. */
export async function forgetReached(
  tx: Transaction,
  merchantId: MerchantId,
  { phone, until }: KnownUntil,
): Promise<void> {
  await tx.run(
    'update reached_customers set recipient = $3 where merchant_id = $1 and recipient = $2 and reached_at <= $4',
    [merchantId, phone, `erased ${randomUUID()}`, until.toISOString()],
  );
}

const PHONES: Readonly<Record<Engine, string>> = {
  sqlite: 'select value from json_each($1)',
  postgres: 'select json_array_elements_text(cast($1 as json))',
};

/** Those of these numbers that have written to any channel of late. */
export async function haveWritten(queries: Queries, phones: readonly string[]): Promise<string[]> {
  const rows = await queries.all<{ phone: string }>(
    `select distinct phone from customer_windows where ${inSelect(queries.engine, 'phone', PHONES[queries.engine])}`,
    [JSON.stringify(phones)],
  );
  return rows.map(({ phone }) => phone);
}

/** When the customer last wrote to these channels, and when the next message may be sent. */
export async function forgetWindows(
  tx: Transaction,
  { phone, until }: KnownUntil,
  channelIds: readonly string[],
): Promise<void> {
  for (const channelId of channelIds) {
    await tx.run('delete from customer_windows where channel_id = $1 and phone = $2 and opened_at <= $3', [
      ...[channelId, phone, until.toISOString()],
    ]);
    await tx.run('delete from send_pace where channel_id = $1 and recipient = $2 and free_at_ms <= $3', [
      ...[channelId, phone, until.getTime()],
    ]);
  }
}

/** What is known about the webhook endpoints of a merchant that is deleted. */
export async function removeStopsOf(tx: Transaction, merchantId: MerchantId): Promise<void> {
  await tx.run(`delete from channel_stops where channel_id like $1`, [`${ENDPOINT}:${merchantId}:%`]);
}

/** The numbers that messages of these conversations went to, and their channels. */
export async function findReached(
  queries: Queries,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<{ phones: string[]; channelIds: string[] }> {
  const rows = await queries.all<{ recipient: string; channel_id: string | null }>(
    `select distinct recipient, channel_id from deliveries
      where ${ownIdIn(queries, '$1', '$2', 'conversation_id')} and endpoint_id = 0`,
    [merchantId, conversationIds],
  );
  return {
    phones: [...new Set(rows.map(({ recipient }) => recipient))],
    channelIds: [...new Set(rows.flatMap(({ channel_id }) => channel_id ?? []))],
  };
}
