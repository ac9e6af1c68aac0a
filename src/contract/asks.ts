import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { TakenOver } from './conversations.ts';
import { DELIVERY_STATES } from './deliveryStates.ts';
import { candidates, QUESTION_LENGTH_MAX } from './find.ts';
import { waitSeconds } from './live.ts';

export const ASK_STATUSES = ['waiting', 'answered', 'resolved', 'deleted', 'expired', 'cancelled'] as const;
export type AskStatus = (typeof ASK_STATUSES)[number];

/** Who sends the answer to the customer. */
export const DELIVER = ['deskbell', 'assistant'] as const;
export type Deliver = (typeof DELIVER)[number];

export const REFERENCE_LENGTH_MAX = 255;
export const METADATA_MAX_BYTES = 4096;
const EXPIRES_MAX_SECONDS = 30 * 24 * 3600;
export const OPEN_ASKS_MAX = 100;

const text = { minLength: 1, maxLength: QUESTION_LENGTH_MAX };

export const AskBody = Type.Object(
  {
    question: Type.Optional(Type.String({ ...text, description: 'What the customer asked.' })),
    support_reason: Type.Optional(
      Type.String({ ...text, description: 'Instead of a question: why the customer needs a person.' }),
    ),
    conversation_id: Type.Optional(Type.Integer({ minimum: 1 })),
    customer: Type.Optional(
      Type.Object(
        {
          phone: Type.Optional(Type.String({ maxLength: 255, description: 'With + and its country code.' })),
          name: Type.Optional(Type.String({ maxLength: 255 })),
          reference: Type.Optional(
            Type.String({ maxLength: 255, description: 'The id of the conversation in your system.' }),
          ),
        },
        {
          description:
            'Instead of `conversation_id`: the conversation is created if needed, and gets the name or number that it lacks. ' +
            'A number that it has is never changed: another `phone` is refused, another `name` is ignored.',
        },
      ),
    ),
    reference: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: REFERENCE_LENGTH_MAX,
        description:
          'Your own id, for example of your run. You get it back with the answer and with every event.',
      }),
    ),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: `Your own data, at most ${METADATA_MAX_BYTES / 1024} kB as JSON. You get it back like \`reference\`. Numbers are kept as JavaScript reads them: send long ids as strings.`,
      }),
    ),
    expires_in_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: EXPIRES_MAX_SECONDS,
        description:
          'When you stop waiting. The question stays in the inbox, and a late answer still reaches the customer.',
      }),
    ),
    if_known: Type.Optional(
      Type.Enum(['answer', 'raise'], {
        default: 'answer',
        description: '`raise` asks the merchant even if the knowledge base has the answer.',
      }),
    ),
    wait_seconds: waitSeconds('How long this call waits for the merchant.'),
    deliver: Type.Optional(
      Type.Enum([...DELIVER], {
        description:
          'Who sends the answer to the customer. With `assistant`, Deskbell sends nothing and you pass it on. The default ' +
          'is the merchant’s setting.',
      }),
    ),
  },
  {
    title: 'NewAsk',
    description: 'A question or a support reason, and the conversation it belongs to.',
    examples: [
      {
        question: 'Can you gift-wrap the beans?',
        customer: { phone: '+34611550101', name: 'Lucía Fernández' },
        reference: 'run-42',
      },
    ],
  },
);
export type AskBody = Static<typeof AskBody>;

const base = {
  id: Type.Integer(),
  notification_id: Type.Integer({ description: 'The same as `id`.' }),
  conversation_id: Type.Integer(),
  reference: NullOr(Type.String()),
  metadata: NullOr(Type.Record(Type.String(), Type.Unknown())),
  deliver: Type.Enum([...DELIVER]),
  created_at: Timestamp,
  expires_at: NullOr(Timestamp),
};
/** Only in the reply to `ask`. */
const asking = {
  duplicate: Type.Boolean({
    description: 'True if this customer’s same question was waiting already. It was not raised again.',
  }),
  taken_over: TakenOver,
  candidates,
  waiting_message: NullOr(
    Type.String(),
    'What the merchant wants its customers to hear while they wait. The assistant says it.',
  ),
  opens_at: NullOr(
    Timestamp,
    'When the shop opens next. Null if it is open now, never opens, or has no opening hours.',
  ),
};
const Delivery = Type.Object(
  { id: Type.Integer(), state: Type.Enum([...DELIVERY_STATES]), updated_at: Timestamp },
  { title: 'AskDelivery' },
);

const FINAL = {
  answered: {
    answer: Type.String(),
    answered_by: NullOr(Type.String({ description: 'The name of the person or key.' })),
    answered_at: Timestamp,
    late: Type.Boolean({ description: 'True if it came after `expires_at`.' }),
    delivery: NullOr(Delivery),
  },
  resolved: {
    resolved_by: NullOr(Type.String({ description: 'The name of the person or key.' })),
    resolved_at: Timestamp,
  },
  deleted: { deleted_at: Timestamp },
  expired: { expired_at: Timestamp },
  cancelled: { cancelled_at: Timestamp },
};
type Final = keyof typeof FINAL;
const finals = Object.keys(FINAL) as Final[];

const baseExample = {
  id: 10,
  notification_id: 10,
  conversation_id: 1,
  reference: 'run-42',
  metadata: null,
  deliver: 'deskbell',
  created_at: '2026-01-15T09:30:00.000Z',
  expires_at: null,
};
const answeredExample = {
  status: 'answered',
  ...baseExample,
  answer: 'Yes, choose it at checkout.',
  answered_by: 'Alma Reyes',
  answered_at: '2026-01-15T09:31:00.000Z',
  late: false,
  delivery: { id: 4, state: 'sent', updated_at: '2026-01-15T09:31:01.000Z' },
};

const stateOf = <S extends string, F extends Record<string, Parameters<typeof Type.Union>[0][number]>>(
  title: string,
  status: S,
  fields: F,
) => Type.Object({ status: Type.Literal(status), ...base, ...fields }, { title });

const named = (prefix: string, status: Final) =>
  `${prefix}${status.charAt(0).toUpperCase()}${status.slice(1)}`;

export const AskState = Type.Union(
  [
    stateOf('AskWaiting', 'waiting', {}),
    ...finals.map((status) => stateOf(named('Ask', status), status, FINAL[status])),
  ],
  {
    title: 'AskState',
    description: 'The question and its state.',
    examples: [{ status: 'waiting', ...baseExample }, answeredExample],
  },
);

export const AskReply = Type.Union(
  [
    Type.Object(
      {
        status: Type.Literal('known'),
        answer: Type.String(),
        document_id: Type.Integer(),
        question: Type.String({ description: 'The document’s title.' }),
        score: Type.Number(),
        conversation_id: NullOr(
          Type.Integer({ description: 'Null if this customer has no conversation yet.' }),
        ),
        reference: base.reference,
        metadata: base.metadata,
        taken_over: Type.Null({ description: 'Always null: while a person speaks, nothing is `known`.' }),
        candidates,
      },
      { title: 'ReplyKnown' },
    ),
    stateOf('ReplyAsked', 'asked', asking),
    ...finals.map((status) => stateOf(named('Reply', status), status, { ...FINAL[status], ...asking })),
  ],
  {
    title: 'AskReply',
    description: 'A known answer, the new question, or its final state if it ended while this call waited.',
    examples: [
      {
        ...{ status: 'asked', ...baseExample, duplicate: false },
        ...{ taken_over: null, candidates: [], waiting_message: null, opens_at: null },
      },
    ],
  },
);

export const AskQuery = Type.Object({
  wait: waitSeconds('How many seconds to wait while the merchant has not answered.'),
});

export const OpenAsksQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: OPEN_ASKS_MAX, default: OPEN_ASKS_MAX })),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the previous page.' })),
});

export const OpenAsks = Type.Object(
  {
    asks: Type.Array(
      Type.Object(
        { status: Type.Literal('waiting'), ...base, question: Type.String() },
        { title: 'OpenAsk' },
      ),
    ),
    next_cursor: NullOr(Type.String()),
  },
  {
    title: 'OpenAsks',
    description: 'The questions that wait for the merchant, newest first.',
    examples: [
      {
        asks: [{ status: 'waiting', ...baseExample, question: 'Can you gift-wrap the beans?' }],
        next_cursor: null,
      },
    ],
  },
);
