import { Type } from 'typebox';
import { ASK_STATUSES, DELIVER } from './asks.ts';
import { NullOr, Timestamp } from './common.ts';
import { DeliveryStateName } from './delivery.ts';
import { lesson } from './teaching.ts';
import { AssignedTo, NotesCount } from './teamwork.ts';

export const NOTIFICATION_TYPES = ['user_question_request', 'user_support_request'] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];
export const NotificationTypeName = Type.Enum([...NOTIFICATION_TYPES], {
  type: 'string',
  title: 'NotificationType',
  description:
    '`user_question_request`: the assistant could not answer. `user_support_request`: the customer wants a person.',
});

export const STATUSES = ['requested', 'answered'] as const;
export type Status = (typeof STATUSES)[number];
export const StatusName = Type.Enum([...STATUSES], { type: 'string', title: 'NotificationStatus' });

const question = Type.String({ minLength: 1, description: 'What the customer asked.' });
const reason = Type.String({ minLength: 1, description: 'Why the customer wants a person.' });
const optionalContext = {
  document_id: Type.Optional(NullOr(Type.Integer(), 'The document that the answer updates.')),
  lead_phone: Type.Optional(NullOr(Type.String(), 'The customer’s phone number.')),
};
const contextOptions = {
  additionalProperties: true,
  description:
    'Set when the notification is raised and returned unchanged, unknown keys included. At most 64 KiB.',
};
export const QuestionContext = Type.Object(
  {
    question,
    support_request_reason: Type.Optional(NullOr(Type.String(), 'Not used for a question.')),
    ...optionalContext,
  },
  { title: 'QuestionContext', ...contextOptions },
);
export const SupportContext = Type.Object(
  {
    support_request_reason: reason,
    question: Type.Optional(NullOr(Type.String(), 'Not used for a support request.')),
    ...optionalContext,
  },
  { title: 'SupportContext', ...contextOptions },
);

const commonFields = {
  id: Type.Integer({ minimum: 1 }),
  status: StatusName,
  created_at: Timestamp,
  updated_at: Timestamp,
  conversation_id: Type.Integer({
    minimum: 1,
    description: 'The conversation it was raised in; it determines the merchant.',
  }),
  requested_fields: Type.Array(Type.String(), { description: 'Fields that `context` must contain.' }),
  answered_fields: Type.Array(Type.String(), { description: 'Fields that an answer must contain.' }),
};
const questionFields = {
  ...commonFields,
  notification_type: Type.Literal('user_question_request'),
  context: QuestionContext,
};
const supportFields = {
  ...commonFields,
  notification_type: Type.Literal('user_support_request'),
  context: SupportContext,
};

const example = {
  id: 12,
  notification_type: 'user_question_request',
  status: 'requested',
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:30:00.000Z',
  conversation_id: 1,
  context: { question: 'Do you have decaf beans?', lead_phone: '+3545550101' },
  requested_fields: ['question'],
  answered_fields: ['answer'],
};

const onlySent = Type.Optional(
  Type.Literal(true, { description: 'It was sent as a campaign, and the knowledge base did not change.' }),
);
const QuestionAnswer = Type.Object(
  { answer: Type.String(), only_send_campaign: onlySent },
  { title: 'QuestionAnswer', description: 'What the customer was told.' },
);
const SupportAnswer = Type.Object(
  {
    agent_response_to_customer: Type.String(),
    resolution_notes: Type.String(),
    only_send_campaign: onlySent,
  },
  { title: 'SupportAnswer', description: 'What the customer was told, and the notes about it.' },
);
const Resolution = Type.Object(
  { resolve_only: Type.Literal(true), resolution_notes: Type.Optional(Type.String()) },
  { title: 'Resolution', description: 'It was resolved without a reply.' },
);
const Cancellation = Type.Object(
  { cancelled: Type.Literal(true) },
  { title: 'Cancellation', description: 'The assistant cancelled it.' },
);
const answeredBy = NullOr(
  Type.String(),
  'The name of the person or key. Null while it is pending, or if the person no longer exists.',
);
const ANSWER = { description: 'The answer, or null while it is pending.' };
const delivery = Type.Union(
  [
    Type.Object(
      { id: Type.Integer({ minimum: 1 }), state: DeliveryStateName, updated_at: Timestamp },
      { title: 'NotificationDelivery', description: 'The message to the customer.' },
    ),
    Type.Null(),
  ],
  { description: 'The message to the customer, or null if none was sent.' },
);

export const UNDO_SECONDS_MAX = 60;
export const undoSeconds = Type.Optional(
  NullOr(
    Type.Integer({ minimum: 0, maximum: UNDO_SECONDS_MAX, default: 0 }),
    'How many seconds it can be undone with `reopen`. Nothing is sent or learned before.',
  ),
);

const outcome = NullOr(
  Type.Enum(['answered', 'resolved'], { type: 'string' }),
  '`resolved`: it ended without a reply. Null while it is pending.',
);
const undoUntil = NullOr(
  Timestamp,
  'Until when the answer can be undone. Null if it cannot, or if there is none.',
);

const ask = Type.Union(
  [
    Type.Object(
      {
        status: Type.Enum([...ASK_STATUSES], { type: 'string' }),
        expires_at: NullOr(Timestamp),
        deliver: Type.Enum([...DELIVER], { type: 'string' }),
        reference: NullOr(Type.String()),
      },
      { title: 'NotificationAsk', description: 'What the assistant asked, and whether it still waits.' },
    ),
    Type.Null(),
  ],
  { description: 'The ask that raised it, or null if it was raised otherwise.' },
);
const questionAnswer = Type.Union([QuestionAnswer, Resolution, Cancellation, Type.Null()], ANSWER);
const supportAnswer = Type.Union([SupportAnswer, Resolution, Cancellation, Type.Null()], ANSWER);
/** Members that a list has only if `include` names them. */
const included = {
  answered_by: Type.Optional(answeredBy),
  delivery: Type.Optional(delivery),
  ask: Type.Optional(ask),
};

const Notification = Type.Union(
  [
    Type.Object(
      { ...questionFields, answer: Type.Optional(questionAnswer), ...included },
      { title: 'QuestionNotification' },
    ),
    Type.Object(
      { ...supportFields, answer: Type.Optional(supportAnswer), ...included },
      { title: 'SupportNotification' },
    ),
  ],
  { title: 'Notification', description: 'What the merchant is asked.' },
);

export const NotificationList = Type.Array(Notification, {
  description: 'Newest first. Empty if there are none.',
  examples: [[example]],
});

const withAnswer = {
  ...{ answered_by: answeredBy, delivery, ask },
  ...{ outcome, undo_until: undoUntil, lesson },
  ...{ assigned_to: AssignedTo, notes: NotesCount },
  recipient: Type.String({
    description:
      'The number that an answer goes to: of the context or the conversation, as fixed by a person.',
  }),
};
export const NotificationWithAnswer = Type.Union(
  [
    Type.Object(
      { ...questionFields, answer: questionAnswer, ...withAnswer },
      { title: 'QuestionWithAnswer' },
    ),
    Type.Object({ ...supportFields, answer: supportAnswer, ...withAnswer }, { title: 'SupportWithAnswer' }),
  ],
  {
    title: 'NotificationWithAnswer',
    description: 'The notification with its answer, the status of its message, and its ask.',
    examples: [
      {
        ...example,
        status: 'answered',
        updated_at: '2026-01-15T09:31:00.000Z',
        answer: { answer: 'Yes, a Colombian one.' },
        answered_by: 'Alma Reyes',
        delivery: { id: 7, state: 'delivered', updated_at: '2026-01-15T09:31:00.120Z' },
        ask: null,
        outcome: 'answered',
        undo_until: null,
        lesson: { do: 'new', document_id: 3, version: 1 },
        assigned_to: null,
        notes: 0,
        recipient: '+34611550101',
      },
    ],
  },
);

export const INCLUDED = ['answer', 'ask'] as const;
export type Included = (typeof INCLUDED)[number];
/** How many `ids` a list takes, and how long its pages are. */
export const LISTED_IDS_MAX = 200;
export const PAGE_DEFAULT = 100;

export const ListQuery = Type.Object({
  status: Type.Optional(StatusName),
  notification_types: Type.Optional(
    Type.Array(NotificationTypeName, {
      description: 'Repeat it, separate values by commas, or use `notification_types[]`.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: 'Page size. Without it the list is complete. The `Link` header has the next page.',
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'From the `Link` header of the previous page.' })),
  conversation_id: Type.Optional(
    Type.Integer({ description: `Only those of this conversation, in pages of ${PAGE_DEFAULT}.` }),
  ),
  ids: Type.Optional(
    Type.String({
      description: `Only these, at most ${LISTED_IDS_MAX}, separated by commas.`,
      examples: ['1,2,3'],
    }),
  ),
  updated_since: Type.Optional(
    Type.String({
      format: 'date-time',
      description: `Only those that have changed since then, last changed first, in pages of ${PAGE_DEFAULT}.`,
    }),
  ),
  include: Type.Optional(
    Type.Array(Type.Enum([...INCLUDED], { type: 'string' }), {
      description: `\`answer\` adds \`answer\`, \`answered_by\` and \`delivery\`, \`ask\` adds \`ask\`; in pages of ${PAGE_DEFAULT}.`,
    }),
  ),
});

export const ListHeaders = Type.Object({
  'if-none-match': Type.Optional(Type.String({ description: 'The `ETag` of the list that you have.' })),
});
export const Unchanged = Type.Null({ description: 'Your list is current.' });

export const WriteHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]+$',
      description:
        'A unique key for this write. Repeating the request with the same key has no further effect.',
    }),
  ),
});
