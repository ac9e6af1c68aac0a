import { type Static, Type } from 'typebox';

export const QUESTION_LENGTH_MAX = 4096;

export const Candidate = Type.Object(
  {
    document_id: Type.Integer(),
    question: Type.String({ description: 'The document’s title.' }),
    answer: Type.String(),
    score: Type.Number({ minimum: 0, maximum: 1, description: '1 is the same question.' }),
    confident: Type.Boolean({ description: 'True if it is safe to answer without a person.' }),
  },
  { title: 'Candidate' },
);
export type Candidate = Static<typeof Candidate>;
export const candidates = Type.Array(Candidate, {
  description: 'Documents that may answer the question, best match first.',
});

export const FOUND_LIMIT = { default: 5, max: 20 };
export const FindQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: QUESTION_LENGTH_MAX,
    description: 'A question or a support reason.',
  }),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: FOUND_LIMIT.max, default: FOUND_LIMIT.default })),
});

export const FoundCandidates = Type.Object(
  { candidates },
  {
    title: 'Candidates',
    description: 'Documents that may answer the question, best match first.',
    examples: [
      {
        candidates: [
          {
            document_id: 3,
            question: 'Do you have decaf beans?',
            answer: 'Yes, a Colombian one, decaffeinated with water.',
            score: 0.93,
            confident: true,
          },
        ],
      },
    ],
  },
);
