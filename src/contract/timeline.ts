import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { Conversation, MESSAGE_LENGTH_MAX, SENDERS } from './conversations.ts';
import { DeliveryStateName } from './delivery.ts';
import { AttentionCodeName } from './inbox.ts';
import { NOTIFICATION_TYPES, STATUSES } from './notifications.ts';

export const TIMELINE_LIMIT = { default: 50, max: 100 };
export const UNDO_MAX_SECONDS = 60;

export const TimelineQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: TIMELINE_LIMIT.max, default: TIMELINE_LIMIT.default }),
  ),
  before: Type.Optional(
    Type.String({ description: 'The `next_before` of a page, to get what was said before it.' }),
  ),
});

const TurnQuestion = Type.Object(
  {
    notification_id: Type.Integer(),
    notification_type: Type.Enum([...NOTIFICATION_TYPES]),
    status: Type.Enum([...STATUSES]),
    outcome: NullOr(
      Type.Enum(['answered', 'resolved']),
      '`resolved`: it was closed without a reply. Null while it waits.',
    ),
    answer: NullOr(
      Type.String(),
      'The answer, if no message in this timeline has it: the assistant passes it on, or it can still be undone.',
    ),
    undo_until: NullOr(Timestamp, 'Until when the answer can be undone. Null if it cannot.'),
    answered_by: NullOr(Type.String({ description: 'The name of the person or key.' })),
    answered_at: NullOr(Timestamp),
  },
  { title: 'TurnQuestion' },
);

export const Turn = Type.Object(
  {
    id: Type.String({
      description: '`m…`: a recorded message. `n…`: a question. `d…`: a message that Deskbell sends.',
    }),
    from: Type.Enum([...SENDERS, 'merchant']),
    text: Type.String(),
    at: Timestamp,
    by: NullOr(
      Type.String({ description: 'The name of the person or key.' }),
      'Who wrote a message of the merchant.',
    ),
    can_quote: Type.Boolean({ description: 'Whether `reply_to` of a message or an answer may be its id.' }),
    question: NullOr(TurnQuestion, 'If it is a question that was raised.'),
    notification_id: NullOr(Type.Integer(), 'The notification that it answers.'),
    reply_to: NullOr(
      Type.Object(
        { id: Type.String(), text: NullOr(Type.String(), 'Its beginning. Null if it is gone.') },
        { title: 'Quote' },
      ),
      'What it replies to: the question, or the customer’s message that it quotes.',
    ),
    delivery: NullOr(
      Type.Object(
        {
          id: Type.Integer(),
          state: DeliveryStateName,
          reason: NullOr(Type.String(), 'Why it waits or failed.'),
          code: NullOr(AttentionCodeName, 'Why it failed.'),
          updated_at: Timestamp,
          undo_until: NullOr(Timestamp, 'It is sent at this time, and can be taken back before.'),
        },
        { title: 'TurnDelivery' },
      ),
      'Of a message that Deskbell sends.',
    ),
  },
  { title: 'Turn', description: 'Something that was said.' },
);
export type Turn = Static<typeof Turn>;

const conversationExample = {
  ...{ id: 1, reference: 'chat-881', customer_name: 'Lucía Fernández', customer_phone: '+34611550101' },
  ...{ created_at: '2026-01-15T09:30:00.000Z', updated_at: '2026-01-15T09:30:00.000Z' },
  ...{ window_open_until: '2026-01-16T09:30:00.000Z', taken_over: null },
};

export const Timeline = Type.Object(
  {
    conversation: Conversation,
    sending: Type.Enum(['text', 'template', 'closed', 'unreachable'], {
      description:
        'How a message to the customer would be sent now. `text`: as it is. `template`: in the merchant’s template, on one ' +
        'line. `closed`: the reply window is closed and there is no template. `unreachable`: there is no valid number.',
    }),
    items: Type.Array(Turn, { description: 'Oldest first.' }),
    next_before: NullOr(Type.String(), 'Send it as `before` to get earlier ones. Null if there are none.'),
  },
  {
    title: 'Timeline',
    description: 'What was said, with questions and answers.',
    examples: [
      {
        conversation: conversationExample,
        sending: 'text',
        items: [
          {
            ...{
              id: 'm1',
              from: 'customer',
              text: 'Do you open on Sundays?',
              at: '2026-01-15T09:30:00.000Z',
            },
            ...{ by: null, can_quote: true, notification_id: null, reply_to: null, delivery: null },
            question: {
              ...{ notification_id: 12, notification_type: 'user_question_request' },
              ...{ status: 'answered', outcome: 'answered', answer: null, undo_until: null },
              ...{ answered_by: 'Alma Reyes', answered_at: '2026-01-15T09:31:00.000Z' },
            },
          },
          {
            ...{ id: 'd7', from: 'merchant', text: 'Yes, from ten to two.', at: '2026-01-15T09:31:00.000Z' },
            ...{ by: 'Alma Reyes', can_quote: false, question: null, notification_id: 12 },
            reply_to: { id: 'm1', text: 'Do you open on Sundays?' },
            delivery: {
              ...{ id: 7, state: 'delivered', reason: null, code: null },
              ...{ updated_at: '2026-01-15T09:31:00.000Z', undo_until: null },
            },
          },
        ],
        next_before: null,
      },
    ],
  },
);

export const SendBody = Type.Object(
  {
    text: Type.String({ minLength: 1, maxLength: MESSAGE_LENGTH_MAX, pattern: '\\S' }),
    reply_to: Type.Optional(
      NullOr(Type.String(), 'The `id` of a message of the customer in the timeline, which this one quotes.'),
    ),
    undo_seconds: Type.Optional(
      NullOr(
        Type.Integer({ minimum: 0, maximum: UNDO_MAX_SECONDS, default: 0 }),
        'How long it waits before it is sent. In this time it can be taken back.',
      ),
    ),
  },
  {
    title: 'MessageToSend',
    examples: [{ text: 'Your parcel has left us today.', undo_seconds: 5 }],
  },
);

export type SendBody = Static<typeof SendBody>;

export const MessageQueued = Type.Object(
  {
    message: Type.String({ description: 'What happened, in plain words.' }),
    delivery_id: Type.Integer(),
    undo_until: NullOr(Timestamp, 'It can be taken back before this time.'),
  },
  {
    title: 'MessageQueued',
    description: 'The message is in the queue.',
    examples: [{ message: 'The message is queued.', delivery_id: 7, undo_until: '2026-01-15T09:31:05.000Z' }],
  },
);
