import { type Static, Type } from 'typebox';
import { ASK_STATUSES, DELIVER } from './asks.ts';
import { NullOr, Timestamp } from './common.ts';
import { DeliveryStateName } from './delivery.ts';
import { NOTIFICATION_TYPES, NotificationTypeName, StatusName } from './notifications.ts';
import { INBOX_TABS } from './plain.ts';

const OUTCOMES = ['answered', 'resolved'] as const;
export type Outcome = (typeof OUTCOMES)[number];
export const INBOX_SORTS = ['newest', 'oldest'] as const;
export const INBOX_LIMIT = { default: 50, max: 100 };
export const SEARCH_LENGTH_MAX = 200;
export const INBOX_IDS_MAX = 100;
/** Longer texts are shortened, so that a page stays small. */
export const QUESTION_LENGTH_MAX = 500;
export const PREVIEW_LENGTH_MAX = 300;
/** How far a tab is counted, and how far the matches of a search in it. */
export const COUNTED_MAX = 1000;
export const MATCHES_COUNTED_MAX = 200;

/** How many messages without a notification the tab shows. */
export const ATTENTION_MESSAGES_MAX = 100;

const ATTENTION_KINDS = ['failed', 'stopped', 'waiting'] as const;
/** Why a message needs attention. A client translates them; `reason` is for people who read English. */
const ATTENTION_CODES = [
  ...['bad_number', 'cannot_receive', 'opted_out', 'window_closed', 'template', 'not_accepted', 'held_back'],
  ...['unknown_if_sent', 'gave_up', 'channel_stopped', 'channel_not_answering', 'daily_limit'],
  ...['customer_must_write', 'earlier_message', 'retrying', 'not_sent_yet', 'number_fixed'],
] as const;
export type AttentionCode = (typeof ATTENTION_CODES)[number];

const type = Type.Optional(
  Type.Enum([...NOTIFICATION_TYPES], { type: 'string', description: 'Only of this type.' }),
);
const q = Type.Optional(
  Type.String({
    maxLength: SEARCH_LENGTH_MAX,
    description:
      'Only those with all these words in the question, the answer, the customer’s name or number, or for people also in ' +
      'the notes. Case, accents ' +
      'and endings do not matter; the last word may be incomplete, and a number may be any part of a phone number.',
  }),
);

const assigned = Type.Optional(
  Type.String({
    description: 'Only those that this person takes care of: `me`, the id of a person, or `none` for nobody.',
  }),
);

export const InboxQuery = Type.Object({
  tab: Type.Optional(
    Type.Enum([...INBOX_TABS], {
      type: 'string',
      default: 'open',
      description:
        '`attention`: those whose message failed, is stopped, or has been waiting for more than ten minutes. ' +
        '`resolved`: without a reply.',
    }),
  ),
  type,
  assigned,
  q,
  sort: Type.Optional(
    Type.Enum([...INBOX_SORTS], {
      type: 'string',
      default: 'newest',
      description:
        'By the time they were raised; with `attention` by the time their message was written, and with `answered` and ' +
        '`resolved` by the time when that happened (`updated_at`), unless there is a `q`.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: INBOX_LIMIT.max, default: INBOX_LIMIT.default })),
  cursor: Type.Optional(Type.String({ description: '`next_cursor` of the previous page.' })),
  ids: Type.Optional(
    Type.String({
      description: `Exactly these notifications, whatever else is given: at most ${INBOX_IDS_MAX} ids, separated by commas.`,
    }),
  ),
});
export const InboxHeaders = Type.Object({
  'if-none-match': Type.Optional(Type.String({ description: 'The `ETag` of the last response.' })),
});
export const PresenceQuery = Type.Object({
  ids: Type.Optional(
    Type.String({ description: `At most ${INBOX_IDS_MAX} ids of notifications, separated by commas.` }),
  ),
});
export const CountsQuery = Type.Object({ type, assigned, q });

export const AttentionCodeName = Type.Enum([...ATTENTION_CODES], {
  type: 'string',
  title: 'AttentionCode',
  description: 'Why, as a name that does not change. New names may be added.',
});
const Attention = Type.Object(
  {
    kind: Type.Enum([...ATTENTION_KINDS], { type: 'string' }),
    code: AttentionCodeName,
    reason: NullOr(Type.String(), 'Why, in plain words.'),
    since: Timestamp,
  },
  { title: 'Attention' },
);
export type Attention = Static<typeof Attention>;

const ListedDelivery = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  state: DeliveryStateName,
  recipient: Type.String(),
  updated_at: Timestamp,
});

const InboxItem = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    notification_type: NotificationTypeName,
    status: StatusName,
    outcome: NullOr(
      Type.Enum([...OUTCOMES], { type: 'string' }),
      '`resolved`: without a reply. Null while it is pending.',
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
    question: Type.String({
      description: `What the customer asked, or why they want a person; at most ${QUESTION_LENGTH_MAX} characters.`,
    }),
    answer_preview: NullOr(
      Type.String(),
      `What the customer was told, or the notes of a resolution; at most ${PREVIEW_LENGTH_MAX} characters.`,
    ),
    answered_by: NullOr(Type.String(), 'The name of the person or key.'),
    undo_until: NullOr(Timestamp, 'Until when the answer can be taken back.'),
    customer: Type.Object({
      name: Type.String(),
      phone: Type.String({ description: 'Where an answer goes. Empty if it is not known.' }),
    }),
    conversation: Type.Object({
      id: Type.Integer({ minimum: 1 }),
      window_open_until: NullOr(
        Timestamp,
        'The end of the 24-hour window in which free text can be sent; null if it is closed.',
      ),
    }),
    delivery: NullOr(ListedDelivery, 'The message to the customer, or null if none was sent.'),
    attention: NullOr(Attention, 'Why its message needs attention.'),
    ask: NullOr(
      Type.Object({
        status: Type.Enum([...ASK_STATUSES], { type: 'string' }),
        deliver: Type.Enum([...DELIVER], { type: 'string' }),
      }),
      'Whether the assistant that asked still waits, and who passes the answer on; null if no assistant asked.',
    ),
    assigned_to: NullOr(Type.Object({ id: Type.Integer({ minimum: 1 }), name: Type.String() })),
    notes: Type.Integer({ minimum: 0, description: 'How many internal notes it has.' }),
  },
  { title: 'InboxItem', description: 'A notification as the inbox lists it.' },
);
export type InboxItem = Static<typeof InboxItem>;

const AttentionMessage = Type.Object(
  {
    id: Type.Integer({
      minimum: 1,
      description: 'Of the delivery: `POST /delivery/{id}/retry` sends it again.',
    }),
    text: Type.String({ description: `What it says; at most ${PREVIEW_LENGTH_MAX} characters.` }),
    by: NullOr(Type.String(), 'Who wrote it.'),
    customer: Type.Object({ name: Type.String(), phone: Type.String() }),
    conversation: Type.Object({ id: Type.Integer({ minimum: 1 }) }),
    notification_id: NullOr(
      Type.Integer({ minimum: 1 }),
      'The newest notification of its conversation, which shows it; null if there is none.',
    ),
    delivery: ListedDelivery,
    attention: Attention,
  },
  {
    title: 'AttentionMessage',
    description: 'A message that somebody wrote without a question, and that needs attention.',
  },
);
export type AttentionMessage = Static<typeof AttentionMessage>;

const message: AttentionMessage = {
  id: 9,
  text: 'It is back on Monday.',
  by: 'Alma',
  customer: { name: 'Lucía Fernández', phone: '+34611550101' },
  conversation: { id: 1 },
  notification_id: 12,
  delivery: { id: 9, state: 'failed', recipient: '+34611550101', updated_at: '2026-01-15T09:41:01.000Z' },
  attention: {
    kind: 'failed',
    code: 'window_closed',
    reason: 'The customer last wrote more than 24 hours ago.',
    since: '2026-01-15T09:41:01.000Z',
  },
};

const item: InboxItem = {
  id: 12,
  notification_type: 'user_question_request',
  status: 'answered',
  outcome: 'answered',
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:31:00.000Z',
  question: 'Do you have decaf beans?',
  answer_preview: 'Yes, a Colombian one.',
  answered_by: 'Alma',
  undo_until: null,
  customer: { name: 'Lucía Fernández', phone: '+34611550101' },
  conversation: { id: 1, window_open_until: '2026-01-16T09:30:00.000Z' },
  delivery: { id: 7, state: 'failed', recipient: '+34611550101', updated_at: '2026-01-15T09:31:01.000Z' },
  attention: {
    kind: 'failed',
    code: 'cannot_receive',
    reason: 'WhatsApp cannot deliver to this number. It may not be on WhatsApp, or its app is too old.',
    since: '2026-01-15T09:31:01.000Z',
  },
  ask: null,
  assigned_to: null,
  notes: 0,
};

export const InboxPage = Type.Object(
  {
    items: Type.Array(InboxItem, {
      description:
        'With a rare type or assignee, a page may have fewer than `limit` although there are more.',
    }),
    messages: Type.Array(AttentionMessage, {
      description:
        `Only on the first page of \`attention\`: the first ${ATTENTION_MESSAGES_MAX} messages that answer no notification and need ` +
        'attention. Filters and search are about the newest notification of their conversation.',
    }),
    next_cursor: NullOr(Type.String(), 'Null at the end of the list.'),
    complete: Type.Boolean({
      description:
        'False only with `q`: after an upgrade, older notifications are still being prepared for search.',
    }),
  },
  {
    title: 'InboxPage',
    description: 'A page of the inbox.',
    examples: [{ items: [item], messages: [message], next_cursor: null, complete: true }],
  },
);
export type InboxPage = Static<typeof InboxPage>;

const Count = Type.Object(
  {
    count: Type.Integer({ minimum: 0 }),
    more: Type.Boolean({ description: 'There are, or may be, more than `count`.' }),
  },
  { title: 'InboxCount' },
);
export const InboxCounts = Type.Object(
  { open: Count, attention: Count, answered: Count, resolved: Count, all: Count },
  {
    title: 'InboxCounts',
    description: `How many each tab has, counted up to ${COUNTED_MAX}, and with \`q\` up to ${MATCHES_COUNTED_MAX}.`,
    examples: [
      {
        open: { count: 3, more: false },
        attention: { count: 1, more: false },
        answered: { count: 1000, more: true },
        resolved: { count: 12, more: false },
        all: { count: 1000, more: true },
      },
    ],
  },
);
export type InboxCounts = Static<typeof InboxCounts>;

export const SendAgainBody = Type.Union(
  [
    Type.Object(
      { ids: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: INBOX_IDS_MAX }) },
      { title: 'SendAgainSome' },
    ),
    Type.Object(
      {
        all: Type.Literal(true),
        dry_run: Type.Optional(
          Type.Boolean({ default: false, description: 'Only counts what would be sent again.' }),
        ),
        ...{ type, assigned, q },
        after_id: Type.Optional(Type.Integer({ minimum: 0, description: 'Of the previous response.' })),
      },
      { title: 'SendAgainAll' },
    ),
  ],
  { title: 'SendAgain', examples: [{ ids: [12, 14] }] },
);

export const SEND_AGAIN_RESULTS = ['queued', 'not_failed', 'bad_number', 'not_found'] as const;
export const SentAgain = Type.Object(
  {
    message: Type.String(),
    count: Type.Integer({ minimum: 0, description: 'How many are queued again.' }),
    skipped: Type.Integer({
      minimum: 0,
      description: 'How many have no valid number. Fix each number first.',
    }),
    left_out: Type.Integer({
      minimum: 0,
      description:
        'With `all`: how many the customer may have received (`unknown_if_sent`) or does not want (`opted_out`). Send ' +
        'each by its id.',
    }),
    more: Type.Boolean({ description: 'With `all`: some are left. Call again with `after_id`.' }),
    after_id: Type.Integer({ minimum: 0 }),
    results: Type.Array(
      Type.Object({
        id: Type.Integer({ minimum: 1 }),
        result: Type.Enum([...SEND_AGAIN_RESULTS], {
          type: 'string',
          description:
            '`not_failed`: it is on its way or was sent. `bad_number`: fix the number first. `not_found`: there is no such message.',
        }),
      }),
      { description: 'With `ids`: what happened to each.' },
    ),
  },
  {
    title: 'SentAgain',
    description: 'What was sent again.',
    examples: [
      {
        message: '1 message is queued again.',
        count: 1,
        skipped: 0,
        left_out: 0,
        more: false,
        after_id: 0,
        results: [{ id: 12, result: 'queued' }],
      },
    ],
  },
);

export const RecipientBody = Type.Object(
  { phone: Type.String({ minLength: 1, maxLength: 64, description: 'With + and the country code.' }) },
  { title: 'Recipient', examples: [{ phone: '+34611550102' }] },
);
