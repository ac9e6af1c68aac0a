import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

export const DELIVERY_STATES = [
  'queued',
  'sending',
  'waiting',
  'sent',
  'delivered',
  'read',
  'failed',
] as const;
export const DeliveryStateName = Type.Enum([...DELIVERY_STATES], {
  description:
    '`waiting`: for the day’s limit or for the customer to write. `sent`: the channel has it. `delivered` and ' +
    '`read`: the customer’s telephone said so.',
});

const deliveryFields = {
  id: Type.Integer(),
  notification_id: Type.Integer({
    description: 'The notification that was answered; it may be deleted by now.',
  }),
  conversation_id: Type.Integer(),
  recipient: Type.String({ description: 'The customer’s telephone number.' }),
  mode: Type.Enum(['reply', 'campaign']),
  content: Type.String(),
  state: DeliveryStateName,
  waiting_for: Type.Union([Type.Enum(['limit', 'customer']), Type.Null()]),
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it waits or failed.' }),
  attempts: Type.Integer(),
  next_try_at: Type.Union([Timestamp, Type.Null()], {
    description: 'When it is tried next; null when it is done, being sent, or waits for the customer.',
  }),
  last_error: Type.Union([Type.String(), Type.Null()], {
    description: 'The channel’s code of the last refusal.',
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
  description: 'A message to a customer.',
  examples: [example],
});
export type Delivery = Static<typeof Delivery>;

export const DeliveryList = Type.Array(Delivery, { description: 'Newest first.', examples: [[example]] });

export const DeliveryWithTimeline = Type.Object(
  {
    ...deliveryFields,
    timeline: Type.Array(
      Type.Object({
        at: Timestamp,
        state: DeliveryStateName,
        code: Type.Union([Type.String(), Type.Null()]),
        note: Type.Union([Type.String(), Type.Null()]),
      }),
      { description: 'What happened, in order.' },
    ),
  },
  {
    description: 'A message to a customer, with what happened to it.',
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
    waiting: Type.Integer({ description: 'Customers who wait for a place.' }),
    next_free_at: Type.Union([Timestamp, Type.Null()], {
      description: 'When one more customer can be reached; null when that is now.',
    }),
  },
  {
    description: 'The day’s messaging limit, in a moving 24 hours.',
    examples: [{ limit: 250, used: 12, waiting: 0, next_free_at: null }],
  },
);
export type Limits = Static<typeof Limits>;

export const SimulatorText = Type.Object(
  { text: Type.String({ minLength: 1, maxLength: 4096 }) },
  { examples: [{ text: 'Do you open on Sundays?' }] },
);

export const SimulatorMessages = Type.Array(
  Type.Object({
    id: Type.Integer(),
    from_customer: Type.Boolean(),
    text: Type.String(),
    at: Timestamp,
    read: Type.Boolean({ description: 'Whether the customer has seen it.' }),
  }),
  {
    description: 'What the telephone shows, oldest first.',
    examples: [
      [{ id: 1, from_customer: true, text: 'Is it organic?', at: '2026-01-15T09:30:00.000Z', read: true }],
    ],
  },
);
