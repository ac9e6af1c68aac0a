import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { EVENTS, type EventName, type MergeRule } from '../contract/auditEvents.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';
import { shortAddress } from '../http/address.ts';

/** Who did it. Give the whole address: only the shortened one is stored. */
export type Who =
  | { kind: 'user'; userId: number; address: string }
  | { kind: 'key'; keyId: number; name: string; address: string }
  | { kind: 'unknown'; address: string }
  | { kind: 'command_line'; name: string }
  | { kind: 'server' };

export const SERVER: Who = { kind: 'server' };

/** Only ids and fixed words: never texts, phone numbers, email addresses or secrets. */
type About = Readonly<
  Partial<
    Record<
      | 'user_id'
      | 'merchant_id'
      | 'key_id'
      | 'notification_id'
      | 'document_id'
      | 'conversation_id'
      | 'delivery_id'
      | 'channel_id'
      | 'webhook_id'
      | 'invite_id'
      | 'channel'
      | 'role'
      | 'state'
      | 'limit'
      | 'factor'
      | 'keys_removed'
      | 'version',
      number | string
    >
  >
>;

export interface Event {
  what: EventName;
  /** Null: it belongs to no merchant, and only operators see it. */
  merchantId: number | null;
  who: Who;
  at: Date;
  about?: About;
  /** How many things it changed, if it names none of them. */
  count?: number;
}

/** The merchant of events that belong to none. */
const NO_MERCHANT = 0;

/** Many addresses share a row, so that a botnet adds at most this many rows an hour for an account. */
const ADDRESS_GROUPS = 64;
/** A user who changes more than this in an hour, through one process, adds one more row for all of the rest. */
const NAMED_MAX = 1000;
const named = new LRUCache<string, number>({ max: 10_000, ttl: 3_600_000 });

/** Writes an event. Use the transaction of the change, so that neither exists without the other. */
export async function recordEvent(queries: Queries, event: Event): Promise<void> {
  const row = rowOf(event, await nameOf(queries, event.who));
  await insertRows(queries, 'audit_events', [row], {
    onConflict: `(merchant_id, merge_key) where merge_key is not null do update set
      count = audit_events.count + excluded.count, last_at = excluded.last_at,
      address = case when audit_events.address is not distinct from excluded.address
        then audit_events.address else 'several' end,
      about = case when audit_events.about = excluded.about then audit_events.about else '{}' end`,
    returning: 'id',
  });
}

/** The name at that time. Not as a part of the insert, which a cluster refuses. */
async function nameOf(queries: Queries, who: Who): Promise<string | null> {
  if ('name' in who) return who.name;
  if (!('userId' in who)) return null;
  const sql = 'select name from users where id = $1';
  return (await queries.one<{ name: string }>(sql, [who.userId]))?.name ?? null;
}

function rowOf(event: Event, name: string | null) {
  const { what, who, merchantId } = event;
  const userId = 'userId' in who ? who.userId : null;
  const keyId = 'keyId' in who ? who.keyId : null;
  const address = 'address' in who ? shortAddress(who.address).slice(0, 64) : null;
  const at = event.at.toISOString();
  const ownName = 'name' in who ? who.name : null;
  return {
    ...{ merchant_id: (merchantId ?? NO_MERCHANT) as MerchantId, at, last_at: at, what, actor: who.kind },
    ...{ user_id: userId, key_id: keyId, name, address, about: JSON.stringify(event.about ?? {}) },
    ...{ merge_key: mergeKeyOf(event, userId ?? keyId ?? ownName, address), count: event.count ?? 1 },
  };
}

/** Above this, one event with their number is enough. */
const NAMED_AT_ONCE_MAX = 100;

/** The same event for several conversations, in one statement. For many, it is one event about the first of them. */
export async function recordOfConversations(
  queries: Queries,
  event: Omit<Event, 'about' | 'count'>,
  conversationIds: readonly number[],
): Promise<void> {
  const [first, ...others] = conversationIds.map((id) => ({ conversation_id: id }));
  if (!first) return;
  const isMany = conversationIds.length > NAMED_AT_ONCE_MAX;
  await recordEvent(queries, { ...event, about: first, count: isMany ? conversationIds.length : 1 });
  if (isMany || others.length === 0) return;
  const name = await nameOf(queries, event.who);
  const rows = others.map((about) => ({ ...rowOf({ ...event, about }, name), merge_key: null }));
  await insertRows(queries, 'audit_events', rows, { returning: 'id' });
}

/** After the migrations, because they create the table. */
export async function recordMigrations(
  queries: Queries,
  applied: readonly { version: number }[],
  who: Who,
  at: Date,
): Promise<void> {
  const version = applied.at(-1)?.version;
  if (version === undefined) return;
  await recordEvent(queries, { what: 'database.migrated', merchantId: null, who, at, about: { version } });
}

/** Events with the same key are one row. */
function mergeKeyOf(
  { what, who, at, about }: Event,
  actor: number | string | null,
  address: string | null,
): string | null {
  const { repeats, mergesAbove }: MergeRule = EVENTS[what];
  const hour = at.toISOString().slice(0, 13);
  const keyOf = (group: unknown) =>
    digest(JSON.stringify([what, who.kind, actor, group, hour])).toString('base64url');
  if (mergesAbove) {
    if (about?.[mergesAbove] === undefined) return keyOf(about);
    const key = keyOf('the rest');
    const count = (named.get(key) ?? 0) + 1;
    named.set(key, count);
    return count > NAMED_MAX ? key : null;
  }
  if (!repeats) return null;
  return keyOf([about, address === null ? null : digest(address).readUInt32BE() % ADDRESS_GROUPS]);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
