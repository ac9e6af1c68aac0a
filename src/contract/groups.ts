import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { undoSeconds } from './notifications.ts';

export const SIMILAR_LIMIT = { default: 20, max: 100 };
export const ANSWERED_TOGETHER_MAX = 100;
export const ANSWER_LENGTH_MAX = 4096;

export const SimilarQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: SIMILAR_LIMIT.max, default: SIMILAR_LIMIT.default }),
  ),
});

const question = Type.String({ description: 'What the customer asked. A long question is shortened.' });

const SimilarNotification = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    question,
    score: Type.Number({ minimum: 0, maximum: 1, description: '1 is the same question.' }),
    personal: Type.Boolean({
      description:
        'It is about this customer only, for example because it has an order number. It is in no group.',
    }),
    conversation_id: Type.Integer({ minimum: 1 }),
    created_at: Timestamp,
  },
  { title: 'SimilarNotification' },
);
export type SimilarNotification = Static<typeof SimilarNotification>;

export const SimilarNotifications = Type.Object(
  { notifications: Type.Array(SimilarNotification, { description: 'Most similar first.' }) },
  {
    title: 'SimilarNotifications',
    description: 'Pending notifications with a similar question.',
    examples: [
      {
        notifications: [
          {
            id: 14,
            question: 'Do you have any decaf beans?',
            score: 1,
            personal: false,
            conversation_id: 2,
            created_at: '2026-01-15T09:32:00.000Z',
          },
        ],
      },
    ],
  },
);

const NotificationGroup = Type.Object(
  {
    ids: Type.Array(Type.Integer({ minimum: 1 }), { description: 'The notifications, newest first.' }),
    size: Type.Integer({ minimum: 2 }),
    notification_id: Type.Integer({
      minimum: 1,
      description: 'The oldest of them. Its question stands for the group.',
    }),
    question,
    oldest_at: Timestamp,
    newest_at: Timestamp,
  },
  { title: 'NotificationGroup' },
);
export type NotificationGroup = Static<typeof NotificationGroup>;

export const NotificationGroups = Type.Object(
  { groups: Type.Array(NotificationGroup, { description: 'Largest first, then the newest.' }) },
  {
    title: 'NotificationGroups',
    description: 'Pending notifications that ask the same.',
    examples: [
      {
        groups: [
          {
            ids: [14, 12],
            size: 2,
            notification_id: 12,
            question: 'Do you have decaf beans?',
            oldest_at: '2026-01-15T09:30:00.000Z',
            newest_at: '2026-01-15T09:32:00.000Z',
          },
        ],
      },
    ],
  },
);

export const AnswerManyBody = Type.Object(
  {
    ids: Type.Array(Type.Integer({ minimum: 1 }), {
      minItems: 1,
      maxItems: ANSWERED_TOGETHER_MAX,
      uniqueItems: true,
      description: 'The notifications, in the order in which they are answered.',
    }),
    answer: Type.String({
      minLength: 1,
      maxLength: ANSWER_LENGTH_MAX,
      pattern: '\\S',
      description: 'The answer for each customer.',
    }),
    teach: Type.Optional(
      NullOr(
        Type.Union([
          Type.Boolean({ default: true }),
          Type.Object({ do: Type.Enum(['new', 'nothing'], { type: 'string' }) }, { title: 'TeachMany' }),
        ]),
        'False, or `nothing`: the knowledge base learns nothing from it. True: as from a single answer. `new`: it ' +
          'makes a document, and replaces none that a notification names.',
      ),
    ),
    document_id: Type.Optional(
      NullOr(
        Type.Integer({ minimum: 1 }),
        'The document that the answer comes from. It learns the questions as other wordings.',
      ),
    ),
    only_send_campaign: Type.Optional(
      NullOr(Type.Boolean({ default: false }), 'Send directly and do not update the knowledge base.'),
    ),
    undo_seconds: undoSeconds,
  },
  {
    title: 'AnswerMany',
    examples: [{ ids: [12, 14], answer: 'Yes, a Colombian one.' }],
  },
);

const Answered = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    status: Type.Literal('answered'),
    message: Type.String({ description: 'What happened, in plain words.' }),
  },
  { title: 'AnsweredResult' },
);
export const Refused = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    status: Type.Literal('refused'),
    message: Type.String({ description: 'Why it was not answered.' }),
    code: Type.String({ description: 'The code of the error that a single answer would return.' }),
  },
  { title: 'RefusedResult' },
);
const AnswerResult = Type.Union([Answered, Refused], { title: 'AnswerResult' });
export type AnswerResult = Static<typeof AnswerResult>;

export const AnsweredMany = Type.Object(
  {
    results: Type.Array(AnswerResult, { description: 'One for each id, in the same order.' }),
    document_id: NullOr(
      Type.Integer({ minimum: 1 }),
      'The document that learned the answer, or null if none did, or if the answer can still be undone.',
    ),
  },
  {
    title: 'AnsweredMany',
    description: 'What happened to each notification.',
    examples: [
      {
        results: [
          { id: 12, status: 'answered', message: 'Notification answered.' },
          {
            id: 14,
            status: 'refused',
            message: 'This notification has already been answered and cannot be answered again.',
            code: 'ALREADY_ANSWERED',
          },
        ],
        document_id: 7,
      },
    ],
  },
);
