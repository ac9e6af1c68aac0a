import type { ValidateFunction } from 'ajv/dist/2020.js';
import {
  NOTIFICATION_TYPES,
  type NotificationType,
  type Status,
  UNDO_SECONDS_MAX,
} from '../contract/notifications.ts';
import type { Quote } from '../conversations/quote.ts';
import {
  ApiError,
  alreadyAnswered,
  answerFailsSchema,
  contentMissing,
  conversationNotFound,
  invalid,
  replyToInvalid,
  required,
} from '../errors.ts';
import { isObject, memberOf } from '../http/input.ts';
import { readTeach, type Teach } from '../knowledge/teach.ts';
import { CONTEXT_TYPES, KINDS } from './kinds.ts';

/** The rules of the contract, without a database: they decide what to do from the stored notification and the request. */

type Fields = { readonly [key: string]: unknown };

const isInteger = (value: unknown): value is number => Number.isInteger(value);

/** Null and blank count as missing. */
const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

/** Of its text as it was sent. Older notifications may have larger ones. */
export const CONTEXT_MAX_BYTES = 64 * 1024;

export type RequestDecision =
  | { do: 'raise'; type: NotificationType; conversationId: number }
  | { do: 'refuse'; error: ApiError };

export function checkRequest(body: unknown): RequestDecision {
  const refuse = (error: ApiError): RequestDecision => ({ do: 'refuse', error });
  if (!isObject(body)) return refuse(invalid('body', 'body must be a JSON object'));

  for (const field of ['notification_type', 'conversation_id', 'context']) {
    if (isMissing(memberOf(body, field))) return refuse(required(field));
  }
  const type = NOTIFICATION_TYPES.find((name) => name === body.notification_type);
  if (!type) {
    return refuse(
      invalid('notification_type', `notification_type must be one of ${NOTIFICATION_TYPES.join(', ')}`),
    );
  }
  const conversationId = body.conversation_id;
  if (typeof conversationId !== 'number' || !Number.isInteger(conversationId)) {
    return refuse(invalid('conversation_id', 'conversation_id must be an integer'));
  }
  const context = body.context;
  if (!isObject(context)) return refuse(invalid('context', 'context must be an object'));

  for (const field of KINDS[type].requestedFields) {
    if (isMissing(memberOf(context, field))) return refuse(required(field));
  }
  for (const [field, kind] of CONTEXT_TYPES) {
    const value = memberOf(context, field);
    if (value === undefined || value === null) continue;
    const isValid = kind === 'integer' ? Number.isInteger(value) : typeof value === 'string';
    if (!isValid)
      return refuse(invalid(field, `${field} must be ${kind === 'integer' ? 'an' : 'a'} ${kind}`));
  }
  if (conversationId < 1 || !Number.isSafeInteger(conversationId)) return refuse(conversationNotFound());
  return { do: 'raise', type, conversationId };
}

export interface Answerable {
  type: NotificationType;
  /** The document that its context names. */
  namedDocument?: unknown;
  status: Status;
  answeredFields: readonly string[];
  matchesSchema: ValidateFunction;
}

export type AnswerDecision =
  | {
      do: 'answer';
      answer: Fields;
      send: 'reply' | 'campaign';
      content: string;
      learn: boolean;
      /** The document that the answer was taken from. */
      documentId?: number;
      /** What the knowledge base learns, if the person says so. */
      teach?: Teach;
      /** The id of the customer's message that it quotes, as given, and then what was found. */
      replyTo?: string;
      quote?: Quote;
      undoSeconds?: number;
    }
  | { do: 'answer'; answer: Fields; send: 'nothing'; undoSeconds?: number }
  | { do: 'refuse'; error: ApiError };

export function checkAnswer(notification: Answerable, body: unknown): AnswerDecision {
  const refuse = (error: ApiError): AnswerDecision => ({ do: 'refuse', error });
  if (notification.status === 'answered') return refuse(alreadyAnswered());
  if (!isObject(body)) return refuse(invalid('body', 'body must be a JSON object'));

  const flags = { resolve_only: false, only_send_campaign: false };
  for (const name of Object.keys(flags) as (keyof typeof flags)[]) {
    const value = memberOf(body, name) ?? false;
    if (typeof value !== 'boolean') return refuse(invalid(name, `${name} must be a boolean`));
    flags[name] = value;
  }
  const seconds = memberOf(body, 'undo_seconds') ?? 0;
  if (!isUndoSeconds(seconds)) return refuse(undoSecondsInvalid());
  const undo = seconds > 0 ? { undoSeconds: seconds } : {};
  const [content, ...others] = notification.answeredFields;
  if (flags.resolve_only) {
    // No field is required, but notes are stored if they were sent.
    const notes = others.filter(
      (field) => typeof memberOf(body, field) === 'string' && !isMissing(body[field]),
    );
    const answer = Object.fromEntries(notes.map((field) => [field, body[field]]));
    return { do: 'answer', answer: { ...answer, resolve_only: true }, send: 'nothing', ...undo };
  }
  if (content !== undefined && isMissing(memberOf(body, content))) return refuse(contentMissing(content));
  const missing = others.find((field) => isMissing(memberOf(body, field)));
  if (missing !== undefined) return refuse(required(missing));

  if (!notification.matchesSchema(body)) {
    const [error] = notification.matchesSchema.errors ?? [];
    const field = error?.instancePath.split('/')[1];
    return refuse(answerFailsSchema(field, `${field ?? 'answer'} ${error?.message ?? 'is not valid'}`));
  }

  const { teaches } = KINDS[notification.type];
  const documentId = (teaches ? memberOf(body, 'document_id') : undefined) ?? undefined;
  if (documentId !== undefined && !isInteger(documentId))
    return refuse(invalid('document_id', 'document_id must be an integer'));

  const given = memberOf(body, 'teach') ?? undefined;
  const teach = given === undefined ? undefined : teachOf(given, notification);
  if (teach instanceof ApiError) return refuse(teach);
  if (teach && teach.do !== 'nothing' && flags.only_send_campaign)
    return refuse(invalid('teach', 'teach cannot be used with only_send_campaign'));

  const replyTo = memberOf(body, 'reply_to') ?? undefined;
  if (replyTo !== undefined && typeof replyTo !== 'string') return refuse(replyToInvalid());

  const answer: Record<string, unknown> = {};
  for (const field of notification.answeredFields) answer[field] = body[field];
  if (flags.only_send_campaign) answer.only_send_campaign = true;
  return {
    do: 'answer',
    answer,
    send: flags.only_send_campaign ? 'campaign' : 'reply',
    content: String(content === undefined ? '' : body[content]),
    learn: !flags.only_send_campaign && teaches && teach?.do !== 'nothing',
    ...(documentId === undefined ? {} : { documentId }),
    ...(teach === undefined ? {} : { teach }),
    ...(replyTo === undefined ? {} : { replyTo }),
    ...undo,
  };
}

export const undoSecondsInvalid = () =>
  invalid('undo_seconds', `undo_seconds must be an integer from 0 to ${UNDO_SECONDS_MAX}`);

export const isUndoSeconds = (value: unknown): value is number =>
  isInteger(value) && value >= 0 && value <= UNDO_SECONDS_MAX;

function teachOf(given: unknown, { type, namedDocument }: Answerable): Teach | ApiError {
  if (!KINDS[type].teaches) return invalid('teach', 'teach is only for questions');
  try {
    return readTeach(given, namedDocument);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
