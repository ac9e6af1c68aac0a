import { authorNameOf, existingUserId } from '../../auth/columns.ts';
import type { Author, MerchantId } from '../../contract/ids.ts';
import type { Step } from '../../database/chain.ts';
import type { Engine } from '../../database/database.ts';
import { JSON_TEXT } from '../../database/text.ts';
import { EVENT_COLUMNS, notificationEvent } from '../event.ts';

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
