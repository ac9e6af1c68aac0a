import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

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
