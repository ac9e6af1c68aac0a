import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import type { Outbox } from '../delivery/outbox.ts';
import { alreadyAnswered, notificationNotFound } from '../errors.ts';
import { learn } from '../knowledge/learn.ts';
import { rememberAnswered } from '../knowledge/suggestions.ts';
import { judgeAnswer } from './rules.ts';
import { findAnswerSchema, findNotification, markAnswered } from './store.ts';

const ajv = new Ajv2020({ strict: false });
/** A schema never changes under its id. */
const compiled = new Map<string, ValidateFunction>();

export interface AnswerParts {
  outbox: Outbox;
}

interface Answer {
  merchantId: MerchantId;
  userId: UserId;
  id: number;
  body: unknown;
  at: Date;
}

/**
 * Answers a notification, or throws why not. The answer, its message to the customer and what the assistant
 * learns from it are one transaction: all or nothing.
 */
export async function answerNotification(
  tx: Queries,
  { outbox }: AnswerParts,
  { merchantId, userId, id, body, at }: Answer,
): Promise<{ message: string }> {
  const notification = await findNotification(tx, merchantId, id);
  if (!notification) throw notificationNotFound();

  const verdict = judgeAnswer(
    {
      type: notification.notification_type,
      status: notification.status,
      answeredFields: JSON.parse(notification.answered_fields) as string[],
      fits: await answerCheck(tx, notification.answer_schema_id),
    },
    body,
  );
  if (verdict.do === 'refuse') throw verdict.error;

  const answer = JSON.stringify(verdict.answer);
  const won = await markAnswered(tx, merchantId, id, { answer, answeredBy: userId, at });
  if (!won) {
    // Since it was read, somebody else has answered or deleted it.
    throw (await findNotification(tx, merchantId, id)) ? alreadyAnswered() : notificationNotFound();
  }
  if (verdict.send === 'nothing') return { message: 'Notification resolved without a reply.' };

  const context = JSON.parse(notification.context) as Record<string, unknown>;
  const { lead_phone: leadPhone, document_id: documentId } = context;
  const question = String(context[(JSON.parse(notification.requested_fields) as string[])[0] ?? ''] ?? '');
  const waitsUntil = await outbox.put(tx, merchantId, {
    notificationId: id,
    conversationId: notification.conversation_id,
    recipient: typeof leadPhone === 'string' && leadPhone.trim() ? leadPhone : notification.customer_phone,
    mode: verdict.send,
    content: verdict.content,
    at,
  });
  if (verdict.learn) {
    await learn(tx, merchantId, {
      documentId: typeof documentId === 'number' ? documentId : undefined,
      question,
      answer: verdict.content,
      notificationId: id,
      userId,
      at,
    });
  }
  await rememberAnswered(tx, merchantId, { notificationId: id, question, answer: verdict.content });
  return {
    message: waitsUntil
      ? `Notification answered. The day's messaging limit is reached: the message waits until ${waitsUntil.toISOString()}.`
      : 'Notification answered.',
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
