import { Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { Confident } from './merchant.ts';

export const OUTCOMES = ['right', 'wrong'] as const;
export type Outcome = (typeof OUTCOMES)[number];
export const KNOWN_MAX = 100;

const threshold = Type.Number({ minimum: 0.5, maximum: 1 });
const outcome = NullOr(Type.Enum([...OUTCOMES], { type: 'string' }), 'Null: nobody has judged it.');

export const Confidence = Type.Object(
  {
    setting: Confident,
    threshold: NullOr(threshold, 'In force: candidates with this score are `confident`. Null: none is.'),
    learned: Type.Object(
      {
        threshold: NullOr(threshold, 'Null: no score is right often enough.'),
        earned: Type.Boolean({
          description:
            'False: there are too few outcomes, so only a question with the same words is `confident`.',
        }),
        right: Type.Integer({ description: 'Of the newest 1,000 outcomes since the reset.' }),
        wrong: Type.Integer(),
      },
      { title: 'LearnedConfidence', description: 'What people’s judgements say, whatever the setting.' },
    ),
    default: Type.Number({ description: 'The threshold without evidence.' }),
    reset_at: NullOr(Timestamp, 'Only outcomes after this time count.'),
  },
  {
    title: 'Confidence',
    description: 'From which score on answers are given without asking a person, and why.',
    examples: [
      {
        setting: 'learned',
        threshold: 0.87,
        learned: { threshold: 0.87, earned: true, right: 40, wrong: 1 },
        default: 0.9,
        reset_at: null,
      },
    ],
  },
);

const knownExample = {
  id: 7,
  question: 'Do you also have decaf beans?',
  document: {
    id: 3,
    title: 'Do you have decaf beans?',
    body: 'Yes, a Colombian one, decaffeinated with water.',
  },
  score: 0.93,
  outcome: 'right',
  judged_by: 'Alma Reyes',
  judged_at: '2026-01-15T10:00:00.000Z',
  created_at: '2026-01-15T09:30:00.000Z',
};
export const KnownAnswer = Type.Object(
  {
    id: Type.Integer(),
    question: Type.String({ description: 'What the customer asked.' }),
    document: Type.Object({
      id: Type.Integer(),
      title: NullOr(Type.String(), 'Null if it was deleted.'),
      body: NullOr(
        Type.String(),
        'The first 600 characters of its answer, as it is now. Null if it was deleted.',
      ),
    }),
    score: Type.Number(),
    outcome,
    judged_by: NullOr(Type.String({ description: 'The name of the person or key.' })),
    judged_at: NullOr(Timestamp),
    created_at: Timestamp,
  },
  {
    title: 'KnownAnswer',
    description: 'A question that was answered from a document without asking a person.',
    examples: [knownExample],
  },
);

export const KnownAnswersQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: KNOWN_MAX, default: KNOWN_MAX })),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the previous page.' })),
});
export const KnownAnswers = Type.Object(
  { known: Type.Array(KnownAnswer), next_cursor: NullOr(Type.String()) },
  {
    title: 'KnownAnswers',
    description: 'What was answered without asking a person, newest first.',
    examples: [{ known: [knownExample], next_cursor: null }],
  },
);

export const Judgement = Type.Object(
  { outcome },
  { title: 'Judgement', description: 'Whether the answer was right.', examples: [{ outcome: 'wrong' }] },
);
