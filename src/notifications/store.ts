import { authorNameOf, existingUserId } from '../auth/columns.ts';
import type { AskStatus, Deliver } from '../contract/asks.ts';
import type { Author, MerchantId } from '../contract/ids.ts';
import type { NotificationType, Status } from '../contract/notifications.ts';
import { customerPhoneOf, referenceOf, wrongPhonesOf } from '../conversations/columns.ts';
import { batchPerTick } from '../database/batchPerTick.ts';
import type { Step } from '../database/chain.ts';
import type { Engine, Queries, Transaction } from '../database/database.ts';
import { idIn, keyPairs, ownIdIn } from '../database/ids.ts';
import { createLookup } from '../database/lookup.ts';
import { JSON_TEXT } from '../database/text.ts';
import type { CountryCode } from '../delivery/phone.ts';
import { deliveryWire } from '../delivery/queue/deliveries.ts';
import { logStep } from '../events/record.ts';
import { lessonWire } from '../knowledge/taught.ts';
import { countryColumn } from '../merchants/store.ts';
import { askWire, joinAsk } from './asks/columns.ts';
import { endAskStep } from './asks/endStep.ts';
import { EVENT_COLUMNS, notificationEvent } from './event.ts';
import { type CustomerNumbers, recipientOf } from './recipient.ts';
import { teamMembers } from './team/columns.ts';

/**
 * A notification as JSON, built by the database. Converting rows to objects and back to JSON costs Node five times as
 * much as forwarding the text.
 */
export const WIRE = `concat('{"id":', id, ',"notification_type":"', notification_type, '","status":"', status,
  '","created_at":"', created_at, '","updated_at":"', updated_at, '","conversation_id":', conversation_id,
  ',"context":', context, ',"requested_fields":', requested_fields, ',"answered_fields":', answered_fields`;

/** What `include` adds to it. `id` is the notification's. */
export const answerMembers = (engine: Engine, merchantId: string, id: string) =>
  `, ',"answer":', coalesce(answer, 'null'), ',"answered_by":',
    ${JSON_TEXT[engine](authorNameOf(merchantId, 'notifications.answered_by', 'notifications.answered_by_key'))},
    ',"delivery":', coalesce(${deliveryWire(merchantId, id)}, 'null')`;
/** A column without characters that JSON escapes. */
const quoted = (column: string) => `coalesce('"' || ${column} || '"', 'null')`;
export const askMember = (engine: Engine, merchantId: string, id: string) =>
  `, ',"ask":', coalesce(${askWire(engine, merchantId, id)}, 'null')`;

export interface ListFilter {
  status: Status | undefined;
  /** Sorted, without repeats. */
  types: readonly NotificationType[];
  /** Only notifications older than this one. */
  beforeId: number | undefined;
  limit: number | undefined;
}

export interface ListPage {
  version: string;
  /** A JSON array, newest first. */
  body: string;
  last_id: number | null;
  more: number;
}

/** The state of a merchant's inbox. */
export interface Inbox {
  /** Changes with every change to one of the merchant's notifications. */
  version: string;
  /** At least the size of the list of all notifications, and of those that are pending. */
  bytes: number;
  pending_bytes: number;
}

export function createFindInbox(queries: Queries): (merchantId: MerchantId) => Promise<Inbox> {
  const find = createLookup<Inbox & { merchant_id: MerchantId }>(
    queries,
    'select merchant_id, version, bytes, pending_bytes from inboxes',
    'merchant_id',
  );
  return async (merchantId) => (await find(merchantId)) ?? EMPTY_INBOX;
}
const EMPTY = 'empty';
const EMPTY_INBOX: Inbox = { version: EMPTY, bytes: 0, pending_bytes: 0 };

/** SQL: what a merchant's notifications count towards its storage allowance. */
export const inboxBytes = (merchantId: string) =>
  `coalesce((select bytes from inboxes where merchant_id = ${merchantId}), 0)`;

/** The versions of many merchants' inboxes, and of who looks at them, for their subscribers. A merchant that never had a notification is absent. */
export async function readInboxVersions(
  queries: Queries,
  merchantIds: readonly MerchantId[],
): Promise<Map<MerchantId, { inbox: string; presence: string }>> {
  const rows = await queries.all<{ merchant_id: MerchantId; version: string; presence: string }>(
    `select merchant_id, version, presence from inboxes where ${idIn(queries.engine, 'merchant_id', '$1')}`,
    [merchantIds],
  );
  return new Map(
    rows.map(({ merchant_id, version, presence }) => [merchant_id, { inbox: version, presence }]),
  );
}

// Few fixed names, so they are part of the text. As parameters they made PostgreSQL plan each list: 140 of 320 µs.
const statusIs = ({ status }: ListFilter) => (status ? ` and status = '${status}'` : '');
const typeIsAmong = ({ types }: ListFilter) =>
  types.length > 0 ? ` and notification_type in ('${types.join("', '")}')` : '';
const isBefore = (id: number | undefined) => id ?? Number.MAX_SAFE_INTEGER;

/** One statement, so that the version belongs to exactly this list. Only for a list that is known to be small. */
export async function listNotifications(
  queries: Queries,
  merchantId: MerchantId,
  filter: ListFilter,
): Promise<ListPage> {
  const params: number[] = [merchantId];
  const bind = (value: number) => `$${params.push(value)}`;
  const matching = `from notifications where merchant_id = $1${statusIs(filter)}${typeIsAmong(filter)}`;
  const before = filter.beforeId === undefined ? '' : ` and id < ${bind(filter.beforeId)}`;
  const limit = filter.limit === undefined ? '' : `limit ${bind(filter.limit)}`;

  const row = await queries.one<ListPage>(
    `with page as (select id, ${WIRE}, '}') as wire ${matching}${before} order by id desc ${limit})
    select coalesce((select version from inboxes where merchant_id = $1), '${EMPTY}') as version,
      concat('[', string_agg(wire, ',' order by id desc), ']') as body,
      min(id) as last_id,
      ${filter.limit === undefined ? '0' : `(select count(*) from (select 1 ${matching} and id < (select min(id) from page) order by id desc limit 1) older)`} as more
    from page`,
    params,
  );
  if (!row) throw new Error('an aggregate always returns a row');
  return row;
}

/** What a notification takes besides its context and its answer. The triggers count with the same number. */
export const ROW_BYTES = 400;
/** What a notification adds to a list. Neither engine reads a long text to get its length. */
const BYTES = `octet_length(context) + ${ROW_BYTES}`;

export interface ScannedRow {
  id: number;
  bytes: number;
  /** 1 if it is one of the filter's types. They are in no index, so a scan has a bound on all rows that it reads. */
  matches: number;
}

/** The first rows of a list, and those in between that its filter leaves out, without their contents. */
export function scanNotifications(
  queries: Pick<Queries, 'all'>,
  merchantId: MerchantId,
  filter: ListFilter,
  rowsMax: number,
): Promise<ScannedRow[]> {
  return queries.all<ScannedRow>(
    `select id, ${BYTES} as bytes, case when true${typeIsAmong(filter)} then 1 else 0 end as matches
      from notifications where merchant_id = $1${statusIs(filter)} and id < $2 order by id desc limit $3`,
    [merchantId, isBefore(filter.beforeId), rowsMax],
  );
}

interface Piece {
  /** The notifications as JSON, separated by commas, newest first. Undefined if the filter leaves out all of them. */
  body: Buffer | undefined;
  /** The next piece begins before this id. Undefined at the end of the list. */
  lastId: number | undefined;
}

/** The next piece of a list, down to `lastId`. It has at least one row, and ends with the first row above the size. */
export async function readPiece(
  queries: Pick<Queries, 'one'>,
  merchantId: MerchantId,
  filter: ListFilter,
  lastId: number,
  opening: string,
  { rowsMax, bytesMax }: { rowsMax: number; bytesMax: number },
): Promise<Piece> {
  const piece = await queries.one<{ wires: string | null; last_id: number | null }>(
    `with scanned as (select id, ${BYTES} as bytes from notifications
        where merchant_id = $1${statusIs(filter)} and id < $2 and id >= $3 order by id desc limit $4),
      sized as (select id, sum(bytes) over (order by id desc) - bytes as bytes_before from scanned),
      last as (select min(id) as id from sized where bytes_before < $5)
    select $6 || (select string_agg(wire, ',' order by id desc) from (select id, ${WIRE}, '}') as wire from notifications
        where merchant_id = $1${statusIs(filter)}${typeIsAmong(filter)} and id < $2 and id >= last.id) page) as wires,
      last.id as last_id
    from last`,
    [merchantId, isBefore(filter.beforeId), lastId, rowsMax, bytesMax, opening],
  );
  if (!piece) throw new Error('an aggregate always returns a row');
  const body = piece.wires === null ? undefined : Buffer.from(piece.wires);
  // The driver keeps finished rows reachable until a full garbage collection: 130 MB of texts without this line.
  piece.wires = null;
  return { body, lastId: piece.last_id ?? undefined };
}

export async function readInboxVersion(
  queries: Pick<Queries, 'one'>,
  merchantId: MerchantId,
): Promise<string> {
  const row = await queries.one<{ version: string }>('select version from inboxes where merchant_id = $1', [
    merchantId,
  ]);
  return row?.version ?? EMPTY;
}

/** What a single notification has more. */
const MORE_MEMBERS = `, ',"outcome":', ${quoted('outcome')}, ',"undo_until":', ${quoted('undo_until')},
    ',"lesson":', coalesce(${lessonWire('$1', '$2')}, 'null')`;

/** One JSON object, with the answer, the state of its message, its ask, what was learned from it, and who of the team has it. */
export async function findNotificationWire(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  defaultCountry: CountryCode | undefined,
): Promise<string | undefined> {
  const row = await queries.one<{ wire: string; context: string } & CustomerNumbers>(
    `select ${WIRE}${answerMembers(queries.engine, '$1', '$2')}${askMember(queries.engine, '$1', '$2')}
        ${MORE_MEMBERS}${teamMembers(queries.engine, '$1', '$2')}) as wire, context,
        ${customerPhoneOf('notifications')} as customer_phone,
        ${wrongPhonesOf(queries.engine, 'notifications')} as wrong_phones, ${countryColumn('$1')} as country
      from notifications where merchant_id = $1 and id = $2`,
    [merchantId, id],
  );
  if (!row) return undefined;
  const { lead_phone: leadPhone } = JSON.parse(row.context) as Record<string, unknown>;
  return `${row.wire},"recipient":${JSON.stringify(recipientOf(leadPhone, row, defaultCountry))}}`;
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
  country: string | null;
  /** Of its ask, if it has one. */
  ask_status: AskStatus | null;
  ask_deliver: Deliver | null;
  ask_expires_at: string | null;
}

const stored = (
  engine: Engine,
) => `select n.merchant_id, n.id, n.notification_type, n.status, n.conversation_id, n.context,
    n.requested_fields, n.answered_fields, n.answer_schema_id, ${customerPhoneOf('n')} as customer_phone,
    ${wrongPhonesOf(engine, 'n')} as wrong_phones, ${referenceOf('n')} as reference, ${countryColumn('n.merchant_id')} as country,
    k.status as ask_status, k.deliver as ask_deliver, k.expires_at as ask_expires_at
  from notifications n ${joinAsk('n')}`;

export function findNotification(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<StoredNotification | undefined> {
  return queries.one(`${stored(queries.engine)} where n.merchant_id = $1 and n.id = $2`, [merchantId, id]);
}

export type FindNotification = (key: {
  merchantId: MerchantId;
  id: number;
}) => Promise<StoredNotification | undefined>;

/** Like `findNotification`, with one statement for all lookups of one turn of the event loop. */
export function createFindNotification(queries: Queries): FindNotification {
  return batchPerTick(async (keys) => {
    const rows = await queries.all<StoredNotification>(
      `${stored(queries.engine)} where (n.merchant_id, n.id) in (${keyPairs(queries.engine, '$1', '$2')})`,
      [keys.map(({ merchantId }) => merchantId), keys.map(({ id }) => id)],
    );
    return keys.map(({ merchantId, id }) =>
      rows.find((row) => row.merchant_id === merchantId && row.id === id),
    );
  });
}

/** Those of these notifications that exist. */
export async function findExisting(
  queries: Queries,
  merchantId: MerchantId,
  ids: readonly number[],
): Promise<Set<number>> {
  const rows = await queries.all<{ id: number }>(
    `select id from notifications where ${ownIdIn(queries.engine, '$1', '$2')}`,
    [merchantId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

const LOCKED: Readonly<Record<Engine, string>> = { sqlite: '', postgres: 'for update' };

/**
 * Locks a notification until the transaction ends, for a caller that locks other rows before it answers. Returns whether
 * it exists.
 */
export async function lockNotification(tx: Queries, merchantId: MerchantId, id: number): Promise<boolean> {
  const sql = `select id from notifications where merchant_id = $1 and id = $2 ${LOCKED[tx.engine]}`;
  return (await tx.one(sql, [merchantId, id])) !== undefined;
}

export async function findAnswerSchema(queries: Queries, id: string): Promise<string> {
  const row = await queries.one<{ schema: string }>('select schema from answer_schemas where id = $1', [id]);
  if (!row) throw new Error(`no answer schema ${id}`);
  return row.schema;
}

/** Members that the event of an answer has more than others, as JSON. */
export interface AnswerEvent {
  data: string | null;
  texts: string | null;
}

/** An answer to a notification. */
export interface Mark {
  /** Absent for an answer that is written already. */
  answer?: string;
  answeredBy: Author;
  at: Date;
  event?: AnswerEvent;
  /** It can be undone until then; the rest is done later. */
  hold?: { until: string; held: string } | undefined;
}

/** Has the columns that `answerEvent` reads. */
const markStep = (merchantId: MerchantId, id: number, change: Mark, sql: string): Step => ({
  name: 'answered',
  rows: {
    columns: {
      merchant_id: 'bigint',
      id: 'bigint',
      answer: 'text',
      answered_by: 'bigint',
      key_id: 'bigint',
      at: 'text',
      event_data: 'text',
      event_texts: 'text',
      undo_until: 'text',
      held: 'text',
    },
    values: [
      {
        merchant_id: merchantId,
        id,
        answer: change.answer ?? null,
        answered_by: change.answeredBy.userId,
        key_id: change.answeredBy.keyId,
        at: change.at.toISOString(),
        event_data: change.event?.data ?? null,
        event_texts: change.event?.texts ?? null,
        undo_until: change.hold?.until ?? null,
        held: change.hold?.held ?? null,
      },
    ],
  },
  sql: `${sql} returning ${EVENT_COLUMNS}`,
});

/** If several answers arrive at the same time, exactly one finds the notification still requested. */
export const markAnswered = (merchantId: MerchantId, id: number, change: Mark & { answer: string }): Step =>
  markStep(
    merchantId,
    id,
    change,
    `update notifications
    set status = 'answered', answer = r.answer, answered_by = ${existingUserId('r.answered_by')},
      answered_by_key = r.key_id, updated_at = r.at, undo_until = r.undo_until, held = r.held
    from answered_rows r
    where notifications.merchant_id = r.merchant_id and notifications.id = r.id and status = 'requested'`,
  );

/** Ends a hold. Only one of many, or a person who takes the answer back, finds the answer still held. */
export const markReleased = (merchantId: MerchantId, id: number, change: Mark): Step =>
  markStep(
    merchantId,
    id,
    change,
    `update notifications set undo_until = null, held = null from answered_rows r
    where notifications.merchant_id = r.merchant_id and notifications.id = r.id and notifications.held = r.held`,
  );

/** The event of `markAnswered`. */
export const answerEvent = (engine: Engine, mark: Step, what: 'answered' | 'resolved'): string =>
  notificationEvent(mark.name, what, {
    joins: `join ${mark.name}_rows r on r.merchant_id = n.merchant_id and r.id = n.id`,
    members: 'r.event_data',
    content: `concat('{', r.event_texts, '"answered_by":',
      ${JSON_TEXT[engine](authorNameOf('n.merchant_id', 'r.answered_by', 'r.key_id'))}, '}')`,
  });

/** Something about it changed that is not stored with it. The time of an answered one is that of its answer. */
export async function touchNotification(
  tx: Transaction,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<void> {
  await tx.run(
    `update notifications set updated_at = case when status = 'requested' then $3 else updated_at end
      where merchant_id = $1 and id = $2`,
    [merchantId, id, at.toISOString()],
  );
}

/** Whoever asked hears of it. */
export async function deleteNotification(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
  { author, at }: { author: Author; at: Date },
): Promise<boolean> {
  const rows = await queries.chain([
    {
      name: 'deleted',
      rows: {
        columns: { merchant_id: 'bigint', id: 'bigint', at: 'text' },
        values: [{ merchant_id: merchantId, id, at: at.toISOString() }],
      },
      sql: `delete from notifications where (merchant_id, id) in (select merchant_id, id from deleted_rows)
        returning ${EVENT_COLUMNS}`,
    },
    endAskStep(merchantId, id, { status: 'deleted', author, at }, 'deleted'),
    logStep(
      notificationEvent('deleted', 'deleted', {
        joins: 'join deleted_rows r on r.merchant_id = n.merchant_id and r.id = n.id',
        at: 'r.at',
      }),
    ),
  ]);
  return rows.length > 0;
}
