import { authorNameOf } from '../auth/columns.ts';
import type { AskStatus, Deliver } from '../contract/asks.ts';
import type { Author, MerchantId } from '../contract/ids.ts';
import type { NotificationType, Status } from '../contract/notifications.ts';
import { customerPhoneOf, erasedAtOf, referenceOf, wrongPhonesOf } from '../conversations/columns.ts';
import type { Engine, Queries, Transaction } from '../database/database.ts';
import { ownIdIn } from '../database/ids.ts';
import { JSON_TEXT } from '../database/text.ts';
import type { CountryCode } from '../delivery/phone.ts';
import { deliveryWire } from '../delivery/queue/deliveries.ts';
import { logEvents } from '../events/record.ts';
import { lessonWire } from '../knowledge/taught.ts';
import { countryColumn } from '../merchants/store.ts';
import { askWire, joinAsk } from './asks/columns.ts';
import { endAsk } from './asks/store.ts';
import { notificationEvent } from './event.ts';
import { readContext, type WithContext } from './kinds.ts';
import { type CustomerNumbers, recipientOf } from './recipient.ts';
import { assigneeWire, noteCount } from './team/columns.ts';

/** More members of the JSON of a notification: SQL for the JSON of each. */
type Members = Readonly<Record<string, string>>;

/**
 * SQL: a notification as JSON. Converting rows to objects and back to JSON costs Node five times as much as forwarding
 * the text.
 */
export const notificationWire = (more: Members = {}) =>
  `concat('{"id":', id, ',"notification_type":"', notification_type, '","status":"', status,
  '","created_at":"', created_at, '","updated_at":"', updated_at, '","conversation_id":', conversation_id,
    ',"context":', context, ',"requested_fields":', requested_fields, ',"answered_fields":', answered_fields,
    ${Object.entries(more)
      .map(([name, json]) => `',"${name}":', ${json}, `)
      .join('')} '}')`;

/** What `include` adds to it. `id` is the notification's. */
export const answerMembers = (engine: Engine, merchantId: string, id: string): Members => ({
  answer: `coalesce(answer, 'null')`,
  answered_by: JSON_TEXT[engine](
    authorNameOf(merchantId, 'notifications.answered_by', 'notifications.answered_by_key'),
  ),
  delivery: `coalesce(${deliveryWire(merchantId, id)}, 'null')`,
});
export const askMember = (engine: Engine, merchantId: string, id: string): Members => ({
  ask: `coalesce(${askWire(engine, merchantId, id)}, 'null')`,
});
/** A column without characters that JSON escapes. */
const quoted = (column: string) => `coalesce('"' || ${column} || '"', 'null')`;

/** One JSON object, with the answer, the state of its message, its ask, what was learned from it, and who of the team has it. */
export async function findNotificationWire(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  defaultCountry: CountryCode | undefined,
): Promise<string | undefined> {
  const { engine } = queries;
  const members = {
    ...answerMembers(engine, '$1', '$2'),
    ...askMember(engine, '$1', '$2'),
    outcome: quoted('outcome'),
    undo_until: quoted('undo_until'),
    lesson: `coalesce(${lessonWire('$1', '$2')}, 'null')`,
    assigned_to: assigneeWire(engine),
    notes: noteCount('$1', '$2'),
  };
  const row = await queries.one<WithContext & CustomerNumbers & { wire: string }>(
    `select ${notificationWire(members)} as wire, notification_type, context,
        ${customerPhoneOf('notifications', '$1')} as customer_phone,
        ${wrongPhonesOf(engine, 'notifications', '$1')} as wrong_phones, ${countryColumn('$1')} as country
      from notifications where merchant_id = $1 and id = $2`,
    [merchantId, id],
  );
  if (!row) return undefined;
  const recipient = recipientOf(readContext(row).leadPhone, row, defaultCountry);
  return `${row.wire.slice(0, -1)},"recipient":${JSON.stringify(recipient)}}`;
}

export interface StoredNotification {
  merchant_id: MerchantId;
  id: number;
  notification_type: NotificationType;
  status: Status;
  conversation_id: number;
  context: string;
  requested_fields: string;
  answered_fields: string;
  answer_schema_id: string;
  customer_phone: string;
  wrong_phones: string;
  reference: string | null;
  /** Since when the customer is being erased: nobody answers it any more. */
  erased_at: string | null;
  country: string | null;
  /** What is left to do for an answer that can be undone: see `held.ts`. */
  held: string | null;
  /** Of its ask, if it has one. */
  ask_status: AskStatus | null;
  ask_deliver: Deliver | null;
  ask_expires_at: string | null;
  /** Of whoever acts on it. Null if that is nobody, or a user who is gone. */
  author_name: string | null;
}

const stored = (
  engine: Engine,
) => `select n.merchant_id, n.id, n.notification_type, n.status, n.conversation_id, n.context,
    n.requested_fields, n.answered_fields, n.answer_schema_id, n.held, ${customerPhoneOf('n', '$1')} as customer_phone,
    ${wrongPhonesOf(engine, 'n', '$1')} as wrong_phones, ${referenceOf('n', '$1')} as reference,
    ${erasedAtOf('n', '$1')} as erased_at, ${countryColumn('$1')} as country,
    k.status as ask_status, k.deliver as ask_deliver, k.expires_at as ask_expires_at,
    ${authorNameOf('$1', '$3', '$4')} as author_name
  from notifications n ${joinAsk('n')} where n.merchant_id = $1 and n.id = $2`;

interface Wanted {
  merchantId: MerchantId;
  id: number;
  /** Who acts on it. */
  author?: Author;
}

const NOBODY: Author = { userId: null, keyId: null };

export const findNotification = (
  queries: Queries,
  { merchantId, id, author: { userId, keyId } = NOBODY }: Wanted,
): Promise<StoredNotification | undefined> =>
  queries.one(stored(queries.engine), [merchantId, id, userId, keyId]);

/** Locks it until the transaction ends. A primary that was demoted refuses that, and only reads what is not new. */
export const lockNotification = (
  tx: Queries,
  { merchantId, id, author: { userId, keyId } = NOBODY }: Wanted,
): Promise<StoredNotification | undefined> =>
  tx.one(`${stored(tx.engine)} ${LOCKED[tx.engine]}`, [merchantId, id, userId, keyId]);

const LOCKED: Readonly<Record<Engine, string>> = { sqlite: '', postgres: 'for update of n' };

/** Those of these notifications that exist. */
export async function findExisting(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<Set<number>> {
  const rows = await queries.all<{ id: number }>(
    `select id from notifications where ${ownIdIn(queries, '$1', '$2')}`,
    [merchantId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

export async function findAnswerSchema(queries: Queries, id: string): Promise<string> {
  const row = await queries.one<{ schema: string }>('select schema from answer_schemas where id = $1', [id]);
  if (!row) throw new Error(`no answer schema ${id}`);
  return row.schema;
}

/** Something about it changed that is not stored with it. The time of an answered one is that of its answer. */
export async function touchNotification(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<void> {
  await tx.write(
    `update notifications set updated_at = case when status = 'requested' then $3 else updated_at end
      where merchant_id = $1 and id = $2`,
    [merchantId, id, at.toISOString()],
  );
}

/** Deletes one that the caller has locked. Whoever asked hears of it. */
export async function deleteNotification(
  tx: Transaction,
  notification: StoredNotification,
  at: Date,
): Promise<void> {
  const { merchant_id: merchantId, id, author_name: by } = notification;
  await tx.write('delete from notifications where merchant_id = $1 and id = $2', [merchantId, id]);
  await endAsk(tx, merchantId, id, { status: 'deleted', by, at });
  await logEvents(tx, merchantId, [notificationEvent(notification, 'deleted', at)]);
}
