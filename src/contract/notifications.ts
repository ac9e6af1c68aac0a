import { Type } from 'typebox';
import { Timestamp } from './common.ts';
import { DeliveryStateName } from './delivery.ts';

export const NOTIFICATION_TYPES = ['user_question_request', 'user_support_request'] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];
const NotificationTypeName = Type.Enum([...NOTIFICATION_TYPES], {
  type: 'string',
  description:
    '`user_question_request`: the assistant could not answer. `user_support_request`: the customer wants a person.',
});

export const STATUSES = ['requested', 'answered'] as const;
export type Status = (typeof STATUSES)[number];
const StatusName = Type.Enum([...STATUSES], { type: 'string' });

const Context = Type.Object(
  {
    question: Type.Optional(Type.String({ description: 'What the customer asked.' })),
    document_id: Type.Optional(Type.Integer({ description: 'The document that the answer updates.' })),
    lead_phone: Type.Optional(Type.String({ description: 'The customer’s phone number.' })),
    support_request_reason: Type.Optional(Type.String({ description: 'Why the customer wants a person.' })),
  },
  {
    additionalProperties: true,
    description:
      'Set when the notification is raised and returned unchanged, unknown keys included. At most 64 KiB.',
  },
);

const notificationFields = {
  id: Type.Integer(),
  notification_type: NotificationTypeName,
  status: StatusName,
  created_at: Timestamp,
  updated_at: Timestamp,
  conversation_id: Type.Integer({
    description: 'The conversation it was raised in; it determines the merchant.',
  }),
  context: Context,
  requested_fields: Type.Array(Type.String(), { description: 'Fields that `context` must contain.' }),
  answered_fields: Type.Array(Type.String(), { description: 'Fields that an answer must contain.' }),
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

const Notification = Type.Object(notificationFields, { examples: [example] });

export const NotificationList = Type.Array(Notification, {
  description: 'Newest first. Empty if there are none.',
  examples: [[example]],
});

export const NotificationWithAnswer = Type.Object(
  {
    ...notificationFields,
    answer: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
      description: 'The answer, or null while it is pending.',
    }),
    delivery: Type.Union(
      [
        Type.Object({
          id: Type.Integer(),
          state: DeliveryStateName,
          updated_at: Timestamp,
        }),
        Type.Null(),
      ],
      { description: 'The message to the customer, or null if none was sent.' },
    ),
  },
  {
    description: 'The notification with its answer and the status of its message.',
    examples: [
      {
        ...example,
        status: 'answered',
        answer: { answer: 'Yes, a Colombian one.' },
        delivery: { id: 7, state: 'delivered', updated_at: '2026-01-15T09:31:00.120Z' },
      },
    ],
  },
);

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
});

export const ListHeaders = Type.Object({
  'if-none-match': Type.Optional(Type.String({ description: 'The `ETag` of the list that you have.' })),
});
export const Unchanged = Type.Null({ description: 'Your list is current.' });

export const WriteHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      maxLength: 255,
      description:
        'A unique key for this write. Repeating the request with the same key has no further effect.',
    }),
  ),
});

export const RequestBody = Type.Object(
  {
    notification_type: NotificationTypeName,
    conversation_id: Type.Integer(),
    context: Context,
  },
  {
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

export const AnswerBody = Type.Object(
  {
    answer: Type.Optional(Type.String({ description: 'Question: the answer for the customer.' })),
    only_send_campaign: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Question: send directly and do not update the knowledge base.',
      }),
    ),
    agent_response_to_customer: Type.Optional(
      Type.String({ description: 'Support: the reply for the customer.' }),
    ),
    resolution_notes: Type.Optional(
      Type.String({ description: 'Support: kept with the notification, never sent.' }),
    ),
    resolve_only: Type.Optional(
      Type.Boolean({ default: false, description: 'Resolve without a reply: nothing is sent or learned.' }),
    ),
  },
  {
    examples: [
      { answer: 'Yes, a Colombian one.' },
      { answer: 'Back in stock on Monday.', only_send_campaign: true },
      {
        agent_response_to_customer: 'A new parcel is on its way.',
        resolution_notes: 'Sent again, order 881.',
      },
      { resolve_only: true },
    ],
  },
);
