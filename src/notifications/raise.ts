import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import { conversations, existingConversation } from '../conversations/columns.ts';
import { batchPerTick } from '../database/batchPerTick.ts';
import { type Database, DatabaseUnavailable, type Queries } from '../database/database.ts';
import { logStep } from '../events/record.ts';
import { EVENT_COLUMNS, notificationEvent } from './event.ts';
import { answerSchemaId, KINDS } from './kinds.ts';

export interface NewNotification {
  merchantId: MerchantId;
  type: NotificationType;
  conversationId: number;
  contextText: string;
  at: Date;
}

/** Returns the new id, or undefined if the merchant has no such conversation. */
export type Raise = (queries: Queries, notification: NewNotification) => Promise<number | undefined>;

/** A longer one is written alone: the others of its batch would wait for it. */
const BATCHED_MAX_LENGTH = 16_384;

/**
 * On PostgreSQL the notifications of one turn of the event loop share a statement and a commit, as all writes do on
 * SQLite. That is 1.6 times as fast as a group of single statements. One in a transaction is written alone.
 */
export function createRaise(database: Database): Raise {
  const insertBatch = batchPerTick((items: readonly NewNotification[]) => insertUnlocked(database, items), {
    serialize: true,
  });
  return async (queries, notification) => {
    const mayShare =
      queries === database &&
      database.engine === 'postgres' &&
      notification.contextText.length <= BATCHED_MAX_LENGTH;
    const id = mayShare ? await insertBatch(notification) : undefined;
    return id ?? insertNotification(queries, notification);
  };
}

const COLUMNS = `merchant_id, conversation_id, notification_type, created_at, updated_at, context,
  requested_fields, answered_fields, answer_schema_id`;

const INSERT = `insert into notifications (${COLUMNS})
  select c.merchant_id, c.id, r.type, r.at, r.at, r.context, r.requested, r.answered, r.schema
    from raised_rows r join ${conversations('c')} on c.merchant_id = r.merchant_id and c.id = r.conversation_id
  returning ${EVENT_COLUMNS}`;
const LOG = logStep(notificationEvent('raised', 'requested'));

const fieldsOf = ({ type }: NewNotification): [requested: string, answered: string, schemaId: string] => [
  JSON.stringify(KINDS[type].requestedFields),
  JSON.stringify(KINDS[type].answeredFields),
  answerSchemaId(KINDS[type]),
];

export async function insertNotification(
  queries: Queries,
  notification: NewNotification,
): Promise<number | undefined> {
  const { merchantId, type, conversationId, contextText, at } = notification;
  const [requested, answered, schema] = fieldsOf(notification);
  const [row] = await queries.chain<{ id: number }>([
    {
      name: 'raised',
      rows: {
        columns: {
          merchant_id: 'bigint',
          conversation_id: 'bigint',
          type: 'text',
          at: 'text',
          context: 'text',
          requested: 'text',
          answered: 'text',
          schema: 'text',
        },
        values: [
          {
            merchant_id: merchantId,
            conversation_id: conversationId,
            type,
            at: at.toISOString(),
            context: contextText,
            requested,
            answered,
            schema,
          },
        ],
      },
      sql: INSERT,
    },
    LOG,
  ]);
  return row?.id;
}

/**
 * For PostgreSQL. Returns the new id of each, and undefined for those that must be written alone: if the conversation is
 * unknown, or if the merchant's inbox is locked, so that no merchant waits for another. The ids are drawn before the
 * insert, so that each caller gets its own.
 */
async function insertUnlocked(
  database: Database,
  notifications: readonly NewNotification[],
): Promise<(number | undefined)[]> {
  if (notifications.length === 1) return [undefined];
  const asked = notifications.map((notification, place) => {
    const { merchantId, type, conversationId, contextText, at } = notification;
    const [requested, answered, schema] = fieldsOf(notification);
    return {
      place,
      merchant: merchantId,
      conversation: conversationId,
      type,
      at: at.toISOString(),
      context: contextText,
      requested,
      answered,
      schema,
    };
  });
  try {
    const rows = await database.run<{ place: number; id: number }>(
      `with asked as materialized (
          select * from json_to_recordset(cast($1 as json)) as a (place integer, merchant bigint,
            conversation bigint, type text, at text, context text, requested text, answered text, schema text)),
        unlocked as materialized (
          select merchant_id from inboxes where merchant_id in (select merchant from asked)
          order by merchant_id for no key update skip locked),
        made as materialized (
          select nextval(pg_get_serial_sequence('notifications', 'id')) as new_id, c.merchant_id, c.id, asked.*
            from asked join unlocked on unlocked.merchant_id = asked.merchant
            join lateral ${existingConversation('asked.merchant', 'asked.conversation')} c on true),
        written as (insert into notifications (id, ${COLUMNS})
          select new_id, merchant_id, id, type, at, at, context, requested, answered, schema from made
          returning ${EVENT_COLUMNS}),
        logged as (${logStep(notificationEvent('written', 'requested')).sql})
        select place, new_id as id from made`,
      [JSON.stringify(asked)],
    );
    const ids = new Map(rows.map(({ place, id }) => [place, id]));
    return asked.map(({ place }) => ids.get(place));
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    // Each is then written alone, so that none fails because of another.
    return asked.map(() => undefined);
  }
}
