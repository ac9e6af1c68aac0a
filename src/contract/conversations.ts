import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { DeliveryStateName } from './delivery.ts';

export const CONVERSATIONS_MAX = 200;
export const MESSAGES_AT_ONCE_MAX = 100;
export const MESSAGE_LENGTH_MAX = 4096;
export const SENDERS = ['customer', 'assistant'] as const;
export const MESSAGES_PAGE_MAX = 200;

export const ConversationQuery = Type.Object({
  ids: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1 }), {
      maxItems: CONVERSATIONS_MAX,
      description: 'Only these. Repeat it, or separate ids by commas.',
    }),
  ),
  reference: Type.Optional(
    Type.String({ description: 'Only the one with this reference.', examples: ['chat-881'] }),
  ),
});

const conversationExample = {
  id: 1,
  reference: 'chat-881',
  customer_name: 'Lucía Fernández',
  customer_phone: '+34611550101',
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:30:00.000Z',
  window_open_until: '2026-01-16T09:30:00.000Z',
  taken_over: null,
};

/** While it is not null, a person speaks to the customer and the assistant is silent. */
export const TakenOver = NullOr(
  Type.Object(
    { at: Timestamp, by: NullOr(Type.String({ description: 'The name of the person or key.' })) },
    { title: 'TakenOver' },
  ),
  'Since when a person speaks to the customer. The assistant must be silent until the conversation is handed back.',
);

export const Conversation = Type.Object(
  {
    id: Type.Integer(),
    reference: NullOr(Type.String(), 'Its id in your own system.'),
    customer_name: Type.String(),
    customer_phone: Type.String({
      description: 'With + and the country code. Empty if only the assistant can reach the customer.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
    window_open_until: NullOr(
      Timestamp,
      'The end of the 24-hour window in which free text can be sent; null if it is closed.',
    ),
    taken_over: TakenOver,
  },
  { title: 'Conversation', description: 'A conversation with a customer.', examples: [conversationExample] },
);

export const ConversationList = Type.Array(Conversation, {
  description: 'Newest first.',
  examples: [[conversationExample]],
});
export type ConversationList = Static<typeof ConversationList>;

export const ConversationBody = Type.Object(
  {
    reference: Type.Optional(
      Type.Union([Type.String({ maxLength: 255 }), Type.Integer(), Type.Null()], {
        description: 'Its id in your own system. A conversation with this reference is updated.',
      }),
    ),
    customer_name: Type.String({ minLength: 1, maxLength: 255 }),
    customer_phone: Type.Optional(
      NullOr(
        Type.String({ maxLength: 255 }),
        'With +, or as written in the merchant’s country. Required, unless the merchant’s assistant speaks to the ' +
          'customers itself.',
      ),
    ),
  },
  {
    title: 'NewConversation',
    examples: [
      { reference: 'chat-881', customer_name: 'Lucía Fernández', customer_phone: '+34 611 55 01 01' },
    ],
  },
);

const NewMessage = Type.Object(
  {
    from: Type.Enum([...SENDERS]),
    text: Type.String({ minLength: 1, maxLength: MESSAGE_LENGTH_MAX }),
    at: Type.Optional(NullOr(Type.String({ format: 'date-time' }), 'When it was said. The default is now.')),
    message_id: Type.Optional(
      NullOr(
        Type.String({ minLength: 1, maxLength: 255 }),
        'Its id in your own system. A message with the same id is stored once in a conversation.',
      ),
    ),
  },
  { title: 'NewMessage' },
);

export const MessagesBody = Type.Union(
  [
    Type.Object(
      { messages: Type.Array(NewMessage, { minItems: 1, maxItems: MESSAGES_AT_ONCE_MAX }) },
      { title: 'NewMessages' },
    ),
    NewMessage,
  ],
  {
    title: 'MessagesToRecord',
    description: 'Several messages, or only one.',
    examples: [
      {
        messages: [
          { from: 'customer', text: 'Do you open on Sundays?', message_id: 'in-1' },
          { from: 'assistant', text: 'Let me ask a colleague.', message_id: 'out-1' },
        ],
      },
    ],
  },
);

export const MessagesStored = Type.Object(
  {
    stored: Type.Integer({ description: 'How many were stored.' }),
    repeated: Type.Integer({ description: 'How many were left out, because their `message_id` was known.' }),
  },
  {
    title: 'StoredMessages',
    description: 'How many messages were stored.',
    examples: [{ stored: 2, repeated: 0 }],
  },
);

export const ThreadQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MESSAGES_PAGE_MAX })),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the previous page.' })),
});

const ThreadMessage = Type.Object(
  {
    id: Type.String(),
    from: Type.Enum([...SENDERS, 'merchant']),
    text: Type.String(),
    at: Timestamp,
    message_id: NullOr(Type.String(), 'Its id in your own system, or in the channel that it went through.'),
    notification_id: NullOr(Type.Integer(), 'The notification that the merchant answered with it.'),
    delivery: NullOr(
      Type.Object({ id: Type.Integer(), state: DeliveryStateName }),
      'The state of the message, if Deskbell sends it.',
    ),
  },
  { title: 'ThreadMessage' },
);
export type ThreadMessage = Static<typeof ThreadMessage>;

export const Thread = Type.Object(
  {
    messages: Type.Array(ThreadMessage, { description: 'Oldest first.' }),
    next_cursor: NullOr(Type.String(), 'Send it as `cursor` to get the next page. Null on the last page.'),
  },
  {
    title: 'Thread',
    description: 'What was said in a conversation.',
    examples: [
      {
        messages: [
          {
            ...{
              id: 'm1',
              from: 'customer',
              text: 'Do you open on Sundays?',
              at: '2026-01-15T09:30:00.000Z',
            },
            ...{ message_id: 'in-1', notification_id: null, delivery: null },
          },
          {
            ...{ id: 'd7', from: 'merchant', text: 'Yes, from ten to two.', at: '2026-01-15T09:31:00.000Z' },
            ...{ message_id: null, notification_id: 12, delivery: { id: 7, state: 'delivered' } },
          },
        ],
        next_cursor: null,
      },
    ],
  },
);
