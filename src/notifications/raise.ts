import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import { type Database, DatabaseUnavailable, type Queries } from '../database/database.ts';
import { together } from '../database/together.ts';
import { answerSchemaId, KINDS } from './kinds.ts';

export interface NewNotification {
  merchantId: MerchantId;
  type: NotificationType;
  conversationId: number;
  contextText: string;
  at: Date;
}

/** Gives the new id, or nothing where the merchant has no such conversation. */
export type Raise = (queries: Queries, notification: NewNotification) => Promise<number | undefined>;

/**
 * On PostgreSQL those that arrive together share a statement, and with it a commit, as on SQLite all writes do.
 * One within a transaction, under an Idempotency-Key, stands for itself.
 */
export function createRaise(database: Database): Raise {
  const raiseTogether = together(async (items: readonly NewNotification[]) => {
    if (items.length > 1) {
      try {
        return (await insertAll(database, items)).map((value) => ({ status: 'fulfilled', value }) as const);
      } catch (error) {
        if (error instanceof DatabaseUnavailable) throw error;
        // Each by itself then: none may fail for what is wrong with another.
      }
    }
    return Promise.allSettled(items.map((item) => insertNotification(database, item)));
  });
  return async (queries, notification) => {
    if (queries !== database || database.engine === 'sqlite')
      return insertNotification(queries, notification);
    const outcome = await raiseTogether(notification);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
}

const COLUMNS = `merchant_id, conversation_id, notification_type, created_at, updated_at, context,
  requested_fields, answered_fields, answer_schema_id`;

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
  const [row] = await queries.run<{ id: number }>(
    `insert into notifications (${COLUMNS})
      select merchant_id, id, $3, $4, $4, $5, $6, $7, $8 from conversations where merchant_id = $1 and id = $2
      returning id`,
    [merchantId, conversationId, type, at.toISOString(), contextText, ...fieldsOf(notification)],
  );
  return row?.id;
}

/** PostgreSQL's alone. An id is drawn for each before it is written, so that it is known whose it is. */
async function insertAll(
  database: Database,
  notifications: readonly NewNotification[],
): Promise<(number | undefined)[]> {
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
  const rows = await database.run<{ place: number; id: number }>(
    `with asked as materialized (
        select nextval(pg_get_serial_sequence('notifications', 'id')) as new_id, c.merchant_id, c.id, a.*
          from json_to_recordset(cast($1 as json)) as a (place integer, merchant bigint, conversation bigint,
            type text, at text, context text, requested text, answered text, schema text)
          join conversations c on c.merchant_id = a.merchant and c.id = a.conversation),
      made as (insert into notifications (id, ${COLUMNS})
        select new_id, merchant_id, id, type, at, at, context, requested, answered, schema from asked)
      select place, new_id as id from asked`,
    [JSON.stringify(asked)],
  );
  const ids = new Map(rows.map(({ place, id }) => [place, id]));
  return asked.map(({ place }) => ids.get(place));
}
