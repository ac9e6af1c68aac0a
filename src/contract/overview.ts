import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';

export const DAYS_MAX = 90;

export const OverviewQuery = Type.Object({
  days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: DAYS_MAX,
      description: 'Number of days, including today. Default: 14.',
    }),
  ),
  time_zone: Type.Optional(
    Type.String({
      description: 'IANA time zone in which days are counted. Default: UTC.',
      examples: ['Europe/Madrid'],
    }),
  ),
});

const ByType = Type.Object({
  user_question_request: Type.Integer(),
  user_support_request: Type.Integer(),
});

const seconds = (description: string) => NullOr(Type.Integer(), `${description} Null without answers.`);

const OverviewWeek = Type.Object(
  {
    from: Type.String({ description: 'Its first day.', examples: ['2026-01-09'] }),
    to: Type.String({ description: 'Its last day.', examples: ['2026-01-15'] }),
    asked: Type.Integer({ description: 'Notifications that were raised.' }),
    answered: Type.Integer({ description: 'With a reply to the customer.' }),
    resolved: Type.Integer({ description: 'Without a reply.' }),
    answered_by_assistant: Type.Integer({
      description: 'Asks that were answered from the knowledge base, without a person.',
    }),
    assistant_share: NullOr(
      Type.Number({ minimum: 0, maximum: 1 }),
      'How much of all that customers asked the assistant answered by itself. Null if nothing was asked.',
    ),
    median_seconds: seconds('Half of the answers came within this time, to about 10%.'),
    p90_seconds: seconds('Nine of ten answers came within this time, to about 10%.'),
  },
  { title: 'OverviewWeek' },
);
export type OverviewWeek = Static<typeof OverviewWeek>;

const AskedMost = Type.Object(
  {
    question: Type.String({ description: 'The newest of them. A long question is shortened.' }),
    count: Type.Integer({ minimum: 2 }),
    notification_id: Type.Integer({ minimum: 1, description: 'That of the newest one.' }),
  },
  { title: 'AskedMost' },
);

const Answerer = Type.Object(
  {
    kind: Type.Enum(['user', 'key'], { description: 'A person, or a program with a key.' }),
    id: Type.Integer({ description: 'The id of the user or key; 0 if the user is gone.' }),
    name: NullOr(Type.String(), 'Null if the user is gone.'),
    count: Type.Integer({ minimum: 1 }),
  },
  { title: 'Answerer' },
);

const DayCount = Type.Object({ day: Type.String({ examples: ['2026-01-15'] }), count: Type.Integer() });

export const Overview = Type.Object(
  {
    pending: Type.Object({
      total: Type.Integer(),
      by_type: ByType,
      oldest_at: Type.Union([Timestamp, Type.Null()], { description: 'When the oldest one was raised.' }),
    }),
    answered_per_day: Type.Array(DayCount, {
      description: 'Replies to customers. One entry per day of the period, oldest first.',
    }),
    median_seconds_to_answer: Type.Union([Type.Number(), Type.Null()], {
      description: 'Median over the period, or over the last 10,000 answers if there are more.',
    }),
    by_type: ByType,
    weeks: Type.Array(OverviewWeek, {
      description:
        'The last twelve weeks, oldest first. The last one ends today. Times, and what the assistant answered, are ' +
        'counted by days in UTC.',
    }),
    asked_most: Type.Array(AskedMost, {
      description:
        'Questions that were asked more than once in the last 28 days, among the newest 1,000; at most ten, most first.',
    }),
    answered_by: Type.Array(Answerer, {
      description: 'Who answered how many in the last 28 days, most first; at most 20.',
    }),
    resolved_per_day: Type.Array(DayCount, {
      description: 'Notifications that were resolved without a reply. They are in none of the other numbers.',
    }),
    resolved: Type.Integer({ description: 'All of these in the period.' }),
  },
  {
    title: 'Overview',
    description: 'Pending notifications now, and answers in the period.',
    examples: [
      {
        pending: {
          total: 3,
          by_type: { user_question_request: 2, user_support_request: 1 },
          oldest_at: '2026-01-15T08:02:00.000Z',
        },
        answered_per_day: [
          { day: '2026-01-14', count: 9 },
          { day: '2026-01-15', count: 4 },
        ],
        median_seconds_to_answer: 412,
        by_type: { user_question_request: 10, user_support_request: 3 },
        weeks: [
          {
            from: '2026-01-09',
            to: '2026-01-15',
            ...{ asked: 41, answered: 36, resolved: 4, answered_by_assistant: 68, assistant_share: 0.624 },
            ...{ median_seconds: 412, p90_seconds: 2900 },
          },
        ],
        asked_most: [{ question: 'Do you have decaf beans?', count: 6, notification_id: 14 }],
        answered_by: [{ kind: 'user', id: 1, name: 'Alma Reyes', count: 98 }],
        resolved_per_day: [
          { day: '2026-01-14', count: 0 },
          { day: '2026-01-15', count: 2 },
        ],
        resolved: 2,
      },
    ],
  },
);
export type Overview = Static<typeof Overview>;
