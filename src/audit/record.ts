import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { EVENTS, type EventName, type MergeRule } from '../contract/auditEvents.ts';
import type { Engine, Queries } from '../database/database.ts';
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
  const { what, who, at } = event;
  const userId = 'userId' in who ? who.userId : null;
  const keyId = 'keyId' in who ? who.keyId : null;
  const name = 'name' in who ? who.name : null;
  const address = 'address' in who ? shortAddress(who.address).slice(0, 64) : null;
  const about = JSON.stringify(event.about ?? {});
  await queries.run(
    `insert into audit_events (merchant_id, at, last_at, what, actor, user_id, name, address, about, merge_key, count, key_id)
      values ($1, $2, $2, $3, $4, $5, coalesce($6, (select u.name from users u where u.id = $5)), $7, $8, $9, $10, $11)
      on conflict (merchant_id, merge_key) where merge_key is not null do update set
        count = audit_events.count + excluded.count, last_at = excluded.last_at,
        address = case when audit_events.address is not distinct from excluded.address
          then audit_events.address else 'several' end,
        about = case when audit_events.about = excluded.about then audit_events.about else '{}' end
      returning id`,
    [
      event.merchantId ?? NO_MERCHANT,
      at.toISOString(),
      what,
      who.kind,
      userId,
      name,
      address,
      about,
      mergeKeyOf(event, userId ?? keyId ?? name, address),
      event.count ?? 1,
      keyId,
    ],
  );
}

const ABOUTS: Readonly<Record<Engine, string>> = {
  sqlite: 'select value from json_each($6)',
  postgres: 'select json_array_elements_text(cast($6 as json)) as value',
};
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
  const { what, who, at, merchantId } = event;
  await queries.run(
    // What is the same for all of them is copied from the first.
    `insert into audit_events (merchant_id, at, last_at, what, actor, user_id, name, address, about, count, key_id)
      select e.merchant_id, e.at, e.last_at, e.what, e.actor, e.user_id, e.name, e.address, a.value, 1, e.key_id
        from (select * from audit_events where merchant_id = $1 and at = $2 and what = $3 and actor = $4 and about = $5
          order by id desc limit 1) e cross join (${ABOUTS[queries.engine]}) a
      returning id`,
    [
      ...[merchantId ?? NO_MERCHANT, at.toISOString(), what, who.kind, JSON.stringify(first)],
      JSON.stringify(others.map((about) => JSON.stringify(about))),
    ],
  );
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
