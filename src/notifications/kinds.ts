import { createHash } from 'node:crypto';
import type { NotificationType } from '../contract/notifications.ts';
import type { Queries } from '../database/database.ts';

/** What a type of notification requires. A new type is one entry here and its name in the contract. */
interface Kind {
  /** Must be present in the context. The first is what the customer asked, or why they want a person. */
  requestedFields: readonly [asked: string, ...others: string[]];
  /** Must be present in an answer. The first is the text that is sent to the customer. */
  answeredFields: readonly [content: string, ...others: string[]];
  answerSchema: object;
  /** Whether the knowledge base learns from an answer. */
  teaches: boolean;
}

const text = { type: 'string', minLength: 1, maxLength: 4096, pattern: '\\S' };

export const KINDS: Readonly<Record<NotificationType, Kind>> = {
  user_question_request: {
    requestedFields: ['question'],
    answeredFields: ['answer'],
    teaches: true,
    answerSchema: { type: 'object', properties: { answer: text }, required: ['answer'] },
  },
  user_support_request: {
    requestedFields: ['support_request_reason'],
    answeredFields: ['agent_response_to_customer', 'resolution_notes'],
    teaches: false,
    answerSchema: {
      type: 'object',
      properties: { agent_response_to_customer: text, resolution_notes: text },
      required: ['agent_response_to_customer', 'resolution_notes'],
    },
  },
};

/** Keys with the same meaning in the context of every type. */
export const CONTEXT_TYPES: ReadonlyMap<string, 'string' | 'integer'> = new Map([
  ['question', 'string'],
  ['support_request_reason', 'string'],
  ['lead_phone', 'string'],
  ['document_id', 'integer'],
]);

export interface WithContext {
  notification_type: NotificationType;
  context: string;
}

/** What the context of a notification says. */
export function readContext({ notification_type, context }: WithContext) {
  const read = JSON.parse(context) as Record<string, unknown>;
  const { document_id: documentId, lead_phone: leadPhone } = read;
  return {
    question: String(read[KINDS[notification_type].requestedFields[0]] ?? ''),
    documentId: typeof documentId === 'number' ? documentId : undefined,
    leadPhone: typeof leadPhone === 'string' ? leadPhone : undefined,
  };
}

export const answerSchemaId = (kind: Kind): string =>
  createHash('sha256').update(JSON.stringify(kind.answerSchema)).digest('base64url').slice(0, 16);

/** What every new notification of a type has. */
export const KIND_COLUMNS = Object.fromEntries(
  Object.entries(KINDS).map(([type, kind]) => [
    type,
    {
      requested_fields: JSON.stringify(kind.requestedFields),
      answered_fields: JSON.stringify(kind.answeredFields),
      answer_schema_id: answerSchemaId(kind),
    },
  ]),
) as Readonly<
  Record<
    NotificationType,
    Readonly<Record<'requested_fields' | 'answered_fields' | 'answer_schema_id', string>>
  >
>;

/** Notifications refer to the schema that they were raised with, so old schemas stay when the table above changes. */
export async function storeAnswerSchemas(queries: Queries): Promise<void> {
  for (const kind of Object.values(KINDS)) {
    await queries.run('insert into answer_schemas (id, schema) values ($1, $2) on conflict (id) do nothing', [
      answerSchemaId(kind),
      JSON.stringify(kind.answerSchema),
    ]);
  }
}
