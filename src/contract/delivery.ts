import { type Static, Type } from 'typebox';
import { NullOr, Since, Timestamp } from './common.ts';
import { DELIVERY_STATES } from './deliveryStates.ts';

export const DeliveryStateName = Type.Enum([...DELIVERY_STATES], {
  type: 'string',
  title: 'DeliveryState',
  description:
    '`waiting`: for the daily limit or for the customer to write. `sent`: the channel has it. `delivered` and ' +
    '`read`: reported by the customer’s phone. `failed`: it was not sent. `cancelled`: by a person.',
});

const deliveryFields = {
  id: Type.Integer(),
  notification_id: NullOr(
    Type.Integer(),
    'The notification that was answered; it may be deleted by now. Null if somebody wrote it without one.',
  ),
  conversation_id: Type.Integer(),
  recipient: Type.String({
    description: 'The customer’s phone number. If it is not valid: the text that was entered.',
  }),
  mode: Type.Enum(['reply', 'campaign']),
  content: Type.String(),
  state: DeliveryStateName,
  waiting_for: Type.Union([Type.Enum(['limit', 'customer']), Type.Null()]),
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it waits or failed.' }),
  attempts: Type.Integer({ minimum: 0 }),
  next_try_at: Type.Union([Timestamp, Type.Null()], {
    description:
      'When it will be sent; null when it is finished, being sent, or waits for the customer or an earlier message.',
  }),
  last_error: Type.Union([Type.String(), Type.Null()], {
    description: 'The channel’s code of the last failed attempt.',
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

const example = {
  id: 7,
  notification_id: 12,
  conversation_id: 1,
  recipient: '+3545550101',
  mode: 'reply',
  content: 'Yes, a Colombian one.',
  state: 'delivered',
  waiting_for: null,
  reason: null,
  attempts: 1,
  next_try_at: null,
  last_error: null,
  created_at: '2026-01-15T09:31:00.000Z',
  updated_at: '2026-01-15T09:31:00.120Z',
};

export const Delivery = Type.Object(deliveryFields, {
  title: 'Delivery',
  description: 'A message to a customer.',
  examples: [example],
});
export type Delivery = Static<typeof Delivery>;

export const DeliveryList = Type.Array(Delivery, { description: 'Newest first.', examples: [[example]] });

export const DeliveryWithTimeline = Type.Object(
  {
    ...deliveryFields,
    timeline: Type.Array(
      Type.Object(
        {
          at: Timestamp,
          state: DeliveryStateName,
          code: Type.Union([Type.String(), Type.Null()]),
          note: Type.Union([Type.String(), Type.Null()]),
        },
        { title: 'DeliveryEvent' },
      ),
      { description: 'Its history, oldest first.' },
    ),
  },
  {
    title: 'DeliveryWithTimeline',
    description: 'A message to a customer, with its history.',
    examples: [
      {
        ...example,
        timeline: [
          { at: '2026-01-15T09:31:00.000Z', state: 'queued', code: null, note: null },
          { at: '2026-01-15T09:31:00.120Z', state: 'delivered', code: null, note: null },
        ],
      },
    ],
  },
);

export const Limits = Type.Object(
  {
    limit: Type.Integer({
      description: 'Distinct customers that campaigns and templates may reach in 24 hours.',
    }),
    used: Type.Integer({ description: 'Reached within the last 24 hours.' }),
    waiting: Type.Integer({ description: 'Customers whose message waits for the limit.' }),
    next_free_at: Type.Union([Timestamp, Type.Null()], {
      description: 'When one more customer can be reached; null when that is now.',
    }),
  },
  {
    title: 'Limits',
    description: 'The daily messaging limit. It covers the last 24 hours.',
    examples: [{ limit: 250, used: 12, waiting: 0, next_free_at: null }],
  },
);
export type Limits = Static<typeof Limits>;

export const RetryBody = Type.Object(
  {
    recipient: Type.Optional(
      Type.String({ maxLength: 64, description: 'Another phone number, instead of the one that was wrong.' }),
    ),
  },
  { title: 'DeliveryRetry', examples: [{ recipient: '+14155552671' }] },
);

export const ManyDeliveries = Type.Object(
  {
    state: Type.String({ description: 'The state that the messages are in.' }),
    since: Type.Optional(NullOr(Since)),
    after_id: Type.Optional(
      NullOr(
        Type.Integer({ minimum: 0 }),
        'The `after_id` of the previous response, to continue from there.',
      ),
    ),
  },
  { title: 'DeliverySelection', examples: [{ state: 'failed', since: '2026-01-15T09:00:00.000Z' }] },
);

export const ChangedMany = Type.Object(
  {
    message: Type.String(),
    count: Type.Integer({ description: 'How many messages were changed.' }),
    skipped: Type.Integer({ description: 'How many were not changed.' }),
    more: Type.Boolean({ description: 'Whether there are more: call again with `after_id`.' }),
    after_id: Type.Integer({ description: 'The last message that this call looked at.' }),
  },
  {
    title: 'ChangedDeliveries',
    description: 'How many messages were changed.',
    examples: [
      { message: '12 messages are queued again.', count: 12, skipped: 0, more: false, after_id: 318 },
    ],
  },
);

export const SimulatorText = Type.Object(
  { text: Type.String({ minLength: 1, maxLength: 4096 }) },
  { title: 'CustomerMessage', examples: [{ text: 'Do you open on Sundays?' }] },
);

export const SimulatorMessages = Type.Array(
  Type.Object(
    {
      id: Type.Integer(),
      from_customer: Type.Boolean(),
      text: Type.String(),
      at: Timestamp,
      read: Type.Boolean({ description: 'Whether the customer has seen it.' }),
    },
    { title: 'SimulatorMessage' },
  ),
  {
    description: 'The messages on the test phone, oldest first.',
    examples: [
      [{ id: 1, from_customer: true, text: 'Is it organic?', at: '2026-01-15T09:30:00.000Z', read: true }],
    ],
  },
);
