import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { alreadyAnswered, notificationNotFound } from '../errors.ts';
import { judgeAnswer } from './rules.ts';
import { findAnswerSchema, findNotification, markAnswered } from './store.ts';

const ajv = new Ajv2020({ strict: false });
/** A schema never changes under its id. */
const compiled = new Map<string, ValidateFunction>();

/** Answers a notification, or throws why not. */
export async function answerNotification(
  queries: Queries,
  {
    merchantId,
    userId,
    id,
    body,
    at,
  }: { merchantId: MerchantId; userId: UserId; id: number; body: unknown; at: Date },
): Promise<{ message: string }> {
  const notification = await findNotification(queries, merchantId, id);
  if (!notification) throw notificationNotFound();

  const verdict = judgeAnswer(
    {
      status: notification.status,
      answeredFields: JSON.parse(notification.answered_fields) as string[],
      fits: await answerCheck(queries, notification.answer_schema_id),
    },
    body,
  );
  if (verdict.do === 'refuse') throw verdict.error;

  const answer = JSON.stringify(verdict.answer);
  const won = await markAnswered(queries, merchantId, id, { answer, answeredBy: userId, at });
  if (!won) {
    // Since it was read, somebody else has answered or deleted it.
    throw (await findNotification(queries, merchantId, id)) ? alreadyAnswered() : notificationNotFound();
  }
  return {
    message: verdict.send === 'nothing' ? 'Notification resolved without a reply.' : 'Notification answered.',
  };
}

async function answerCheck(queries: Queries, schemaId: string): Promise<ValidateFunction> {
  let check = compiled.get(schemaId);
  if (!check) {
    check = ajv.compile(JSON.parse(await findAnswerSchema(queries, schemaId)) as object);
    compiled.set(schemaId, check);
  }
  return check;
}
