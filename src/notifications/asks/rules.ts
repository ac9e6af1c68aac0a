import { createHash } from 'node:crypto';
import { type AskBody, METADATA_MAX_BYTES, REFERENCE_LENGTH_MAX } from '../../contract/asks.ts';
import { QUESTION_LENGTH_MAX } from '../../contract/find.ts';
import type { NotificationType } from '../../contract/notifications.ts';
import { invalid, required } from '../../errors.ts';

/** What an assistant wants to know, checked. Its types and bounds were checked against the schema before. */
export interface Question {
  type: NotificationType;
  text: string;
  /** Of the notification. */
  context: Readonly<Record<string, string>>;
  /** The same for the same question in other letters: case, spaces and punctuation do not count. */
  key: string;
  reference: string | null;
  /** JSON. */
  metadata: string | null;
}

const isBlank = (text: string | undefined) => text === undefined || text.trim() === '';

export function readQuestion(body: AskBody): Question {
  const { question, support_reason: reason } = body;
  if (!isBlank(question) && !isBlank(reason)) {
    throw invalid('support_reason', 'Send either question or support_reason, not both');
  }
  const field = isBlank(question) ? 'support_reason' : 'question';
  const text = (isBlank(question) ? reason : question)?.trim();
  if (text === undefined || text === '') throw required('question');
  if (text.length > QUESTION_LENGTH_MAX) {
    throw invalid(field, `${field} must not have more than ${QUESTION_LENGTH_MAX} characters`);
  }
  if (body.conversation_id !== undefined && body.customer !== undefined) {
    throw invalid('customer', 'Send either conversation_id or customer, not both');
  }
  if (body.conversation_id === undefined && body.customer === undefined) {
    throw invalid('customer', 'Send conversation_id or customer');
  }
  return {
    ...(field === 'question'
      ? { type: 'user_question_request', context: { question: text } }
      : { type: 'user_support_request', context: { support_request_reason: text } }),
    text,
    key: keyOf(field, text),
    reference: readReference(body.reference),
    metadata: readMetadata(body.metadata),
  };
}

function keyOf(field: string, text: string): string {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu);
  return (
    createHash('sha256')
      // A question of punctuation alone is compared as it is.
      .update(`${field} ${words?.join(' ') ?? text}`)
      .digest('base64url')
  );
}

function readReference(given: string | undefined): string | null {
  if (given === undefined) return null;
  const isText = given.isWellFormed() && !/\p{Cc}/u.test(given) && given.trim() !== '';
  if (isText) return given;
  throw invalid('reference', `reference must be text of 1 to ${REFERENCE_LENGTH_MAX} characters on one line`);
}

function readMetadata(given: Record<string, unknown> | undefined): string | null {
  if (given === undefined) return null;
  const text = JSON.stringify(given);
  if (Buffer.byteLength(text) <= METADATA_MAX_BYTES) return text;
  throw invalid('metadata', `metadata must not be larger than ${METADATA_MAX_BYTES / 1024} kB as JSON`);
}
