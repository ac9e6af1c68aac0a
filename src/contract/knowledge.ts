import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

const VERSION_REASONS = ['answer', 'edit', 'revert', 'import'] as const;
export type VersionReason = (typeof VERSION_REASONS)[number];

const documentFields = {
  id: Type.Integer({ description: 'Never given twice.' }),
  title: Type.String({ description: 'A question, or what it is about.' }),
  body: Type.String({ description: 'What the assistant may say.' }),
  version: Type.Integer({ description: 'Grows by one with every change.' }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

const example = {
  id: 3,
  title: 'Do you have decaf beans?',
  body: 'Yes, a Colombian one, decaffeinated with water.',
  version: 2,
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-16T11:00:00.000Z',
};

export const Document = Type.Object(documentFields, {
  description: 'The document as it is now.',
  examples: [example],
});
export type Document = Static<typeof Document>;

export const DocumentList = Type.Array(Document, {
  description: 'Last updated first; the best first in a search. An empty array means that there are none.',
  examples: [[example]],
});

const DocumentVersion = Type.Object({
  version: Type.Integer(),
  what: Type.Enum([...VERSION_REASONS], {
    description: 'What made it: an answer to a question, an edit, a revert, or an import.',
  }),
  title: Type.String(),
  body: Type.String(),
  user_id: Type.Union([Type.Integer(), Type.Null()], { description: 'Who made it; null for an import.' }),
  user_name: Type.Union([Type.String(), Type.Null()]),
  notification_id: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The question that was answered. It may have been deleted since.',
  }),
  created_at: Timestamp,
});
export type DocumentVersion = Static<typeof DocumentVersion>;

export const DocumentWithVersions = Type.Object(
  {
    ...documentFields,
    versions: Type.Array(DocumentVersion, {
      description: 'Newest first, the current one included; at most 50.',
    }),
  },
  {
    description: 'The document and how it came to be.',
    examples: [
      {
        ...example,
        versions: [
          {
            version: 2,
            what: 'edit',
            title: example.title,
            body: example.body,
            user_id: 1,
            user_name: 'Alma Reyes',
            notification_id: null,
            created_at: example.updated_at,
          },
          {
            version: 1,
            what: 'answer',
            title: example.title,
            body: 'Yes, a Colombian one.',
            user_id: 1,
            user_name: 'Alma Reyes',
            notification_id: 12,
            created_at: example.created_at,
          },
        ],
      },
    ],
  },
);

export const DocumentQuery = Type.Object({
  q: Type.Optional(
    Type.String({
      maxLength: 500,
      description:
        'Searches titles and bodies: without case, accents and endings; the last word may be incomplete.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 100,
      description: 'At most so many. The `Link` header leads to the next page.',
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'Taken from the `Link` header of the page before.' })),
});

export const DocumentChange = Type.Object(
  {
    title: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    body: Type.Optional(Type.String({ minLength: 1, maxLength: 20_000 })),
  },
  {
    description: 'What is not given stays as it is.',
    examples: [{ body: 'Yes, two of them, both decaffeinated with water.' }],
  },
);

export const ChangeHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'The `ETag` of the document as you read it: 409 if it has changed since.' }),
  ),
});

const Suggestion = Type.Object({
  kind: Type.Enum(['document', 'notification']),
  id: Type.Integer({ description: 'The document’s, or the answered notification’s.' }),
  question: Type.String({ description: 'What was asked, or the document’s title.' }),
  answer: Type.String(),
  score: Type.Number({ minimum: 0, maximum: 1, description: '1 is the same question.' }),
});
export type Suggestion = Static<typeof Suggestion>;

export const SuggestionList = Type.Array(Suggestion, {
  description: 'The best first. An empty array means that nothing is like it.',
  examples: [
    [{ kind: 'document', id: 3, question: 'Do you have decaf beans?', answer: example.body, score: 0.87 }],
  ],
});

export const SuggestionQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 20, default: 5, description: 'At most so many.' }),
  ),
});
