import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';
import { type Database, isRefused, type Queries } from '../database/database.ts';
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

/** A longer one goes by itself: those that go with it would pay for its way. */
const TOGETHER_MAX_LENGTH = 16_384;

/**
 * On PostgreSQL those that arrive together share a statement, and with it a commit, as on SQLite all writes do.
 * One within a transaction, under an Idempotency-Key, stands for itself.
 */
export function createRaise(database: Database): Raise {
  const insertTogether = together((items: readonly NewNotification[]) => insertFree(database, items), {
    inTurn: true,
  });
  return async (queries, notification) => {
    const mayGoTogether =
      queries === database &&
      database.engine === 'postgres' &&
      notification.contextText.length <= TOGETHER_MAX_LENGTH;
    const id = mayGoTogether ? await insertTogether(notification) : undefined;
    return id ?? insertNotification(queries, notification);
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

/**
 * PostgreSQL's alone. Gives the new id of each, and none for those that must go by themselves: of a merchant
 * whose inbox somebody else is changing, or whose conversation is not found. No merchant waits for another so.
 * An id is drawn for each before it is written, so that it is known whose it is.
 */
async function insertFree(
  database: Database,
  notifications: readonly NewNotification[],
): Promise<(number | undefined)[]> {
  // One alone needs none of this.
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
        free as materialized (
          select merchant_id from inboxes where merchant_id in (select merchant from asked)
          order by merchant_id for no key update skip locked),
        made as materialized (
          select nextval(pg_get_serial_sequence('notifications', 'id')) as new_id, c.merchant_id, c.id, asked.*
            from asked join free on free.merchant_id = asked.merchant
            join conversations c on c.merchant_id = asked.merchant and c.id = asked.conversation),
        written as (insert into notifications (id, ${COLUMNS})
          select new_id, merchant_id, id, type, at, at, context, requested, answered, schema from made)
        select place, new_id as id from made`,
      [JSON.stringify(asked)],
    );
    const ids = new Map(rows.map(({ place, id }) => [place, id]));
    return asked.map(({ place }) => ids.get(place));
  } catch (error) {
    if (!isRefused(error)) throw error;
    // Each by itself then: none may fail for what is wrong with another.
    return asked.map(() => undefined);
  }
}
