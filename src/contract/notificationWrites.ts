import { Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { QuestionContext, SupportContext, undoSeconds } from './notifications.ts';
import { Lesson, Teach } from './teaching.ts';

/** What is sent to raise and to answer a notification. */

const conversationId = Type.Integer({ minimum: 1, description: 'A conversation of this merchant.' });
export const RequestBody = Type.Union(
  [
    Type.Object(
      {
        notification_type: Type.Literal('user_question_request'),
        conversation_id: conversationId,
        context: QuestionContext,
      },
      { title: 'NewQuestion' },
    ),
    Type.Object(
      {
        notification_type: Type.Literal('user_support_request'),
        conversation_id: conversationId,
        context: SupportContext,
      },
      { title: 'NewSupportRequest' },
    ),
  ],
  {
    title: 'NewNotification',
    examples: [
      {
        notification_type: 'user_question_request',
        conversation_id: 1,
        context: { question: 'Do you have decaf beans?' },
      },
      {
        notification_type: 'user_support_request',
        conversation_id: 1,
        context: { support_request_reason: 'The parcel arrived damaged.' },
      },
    ],
  },
);

const replyText = (description: string) =>
  Type.String({ minLength: 1, maxLength: 4096, pattern: '\\S', description });
const replyFlags = {
  only_send_campaign: Type.Optional(
    NullOr(Type.Boolean({ default: false }), 'Send directly and do not update the knowledge base.'),
  ),
  resolve_only: Type.Optional(NullOr(Type.Literal(false))),
  reply_to: Type.Optional(
    NullOr(
      Type.String(),
      'The `id` of a message of the customer in the timeline, which the message to the customer quotes.',
    ),
  ),
  undo_seconds: undoSeconds,
};
/** The notification's type decides which of them it takes. */
export const AnswerBody = Type.Union(
  [
    Type.Object(
      {
        answer: replyText('The answer for the customer.'),
        document_id: Type.Optional(
          NullOr(
            Type.Integer(),
            'The document that the answer was taken from: it gets the question as another wording, and does not change otherwise. If there is no such document, the answer is learned as usual.',
          ),
        ),
        teach: Type.Optional(
          NullOr(
            Teach,
            'What the knowledge base learns. Without it: the answer, unless it says nothing by itself, like “Yes!”.',
          ),
        ),
        ...replyFlags,
      },
      { title: 'QuestionReply', description: 'Answers a question.' },
    ),
    Type.Object(
      {
        agent_response_to_customer: replyText('The reply for the customer.'),
        resolution_notes: replyText('Kept with the notification, never sent.'),
        ...replyFlags,
      },
      { title: 'SupportReply', description: 'Answers a support request.' },
    ),
    Type.Object(
      {
        resolve_only: Type.Literal(true),
        resolution_notes: Type.Optional(NullOr(Type.String(), 'Support: kept with the notification.')),
        undo_seconds: undoSeconds,
      },
      { title: 'ResolveOnly', description: 'Resolves it without a reply: nothing is sent or learned.' },
    ),
  ],
  {
    title: 'Answer',
    examples: [
      { answer: 'Yes, a Colombian one.' },
      { answer: 'Yes, a Colombian one.', document_id: 3 },
      { answer: 'Yes, a Colombian one.', undo_seconds: 5, teach: { do: 'append', document_id: 3 } },
      { answer: 'Back in stock on Monday.', only_send_campaign: true },
      {
        agent_response_to_customer: 'A new parcel is on its way.',
        resolution_notes: 'Sent again, order 881.',
      },
      { resolve_only: true },
    ],
  },
);

export const AnswerDone = Type.Object(
  {
    message: Type.String({ description: 'What happened, in plain words.' }),
    undo_until: Type.Optional({
      ...Timestamp,
      description: 'Only with `undo_seconds`: until when it can be undone.',
    }),
    lesson: Type.Optional(
      NullOr(
        Lesson,
        'Only with `teach` or `undo_seconds`: what was learned, or null if nothing was, or not yet.',
      ),
    ),
  },
  {
    title: 'AnswerDone',
    description: 'The answer is stored.',
    examples: [
      { message: 'Notification answered.' },
      {
        message:
          "Notification answered. The day's messaging limit is reached: the message waits until 2026-01-16T09:31:00.000Z.",
      },
      { message: 'Notification resolved without a reply.' },
      {
        message: 'Notification answered. The message will be sent in 5 seconds.',
        undo_until: '2026-01-15T09:31:05.000Z',
        lesson: null,
      },
    ],
  },
);
