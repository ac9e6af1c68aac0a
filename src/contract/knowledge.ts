import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';

const VERSION_REASONS = ['answer', 'edit', 'revert', 'import'] as const;
export type VersionReason = (typeof VERSION_REASONS)[number];

const documentFields = {
  id: Type.Integer({ description: 'Never reused.' }),
  title: Type.String({ description: 'A question or a topic.' }),
  body: Type.String({ description: 'The answer that the assistant can give.' }),
  version: Type.Integer({ minimum: 1, description: 'Grows by one with every change.' }),
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

const wordingExample = {
  id: 7,
  text: 'Is there coffee without caffeine?',
  notification_id: 31,
  user_id: 1,
  user_name: 'Alma Reyes',
  created_at: '2026-01-17T08:15:00.000Z',
};

export const Document = Type.Object(documentFields, {
  title: 'Document',
  description: 'The current document.',
  examples: [example],
});
export type Document = Static<typeof Document>;

export const DocumentList = Type.Array(Document, {
  description: 'Last updated first; in a search, best match first. Empty if there are none.',
  examples: [[example]],
});

const DocumentVersion = Type.Object(
  {
    version: Type.Integer(),
    what: Type.Enum([...VERSION_REASONS], {
      description: 'The cause: an answer to a question, an edit, a revert, or an import.',
    }),
    title: Type.String(),
    body: Type.String(),
    user_id: Type.Union([Type.Integer(), Type.Null()], { description: 'The author; null for an import.' }),
    user_name: Type.Union([Type.String(), Type.Null()]),
    notification_id: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The notification that was answered. It may have been deleted since.',
    }),
    created_at: Timestamp,
  },
  { title: 'DocumentVersion' },
);
export type DocumentVersion = Static<typeof DocumentVersion>;

export const DocumentWording = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: 'Never reused.' }),
    text: Type.String({ description: 'A question that the document answers.' }),
    notification_id: NullOr(
      Type.Integer(),
      'The notification that asked so; null if it was added by hand or by an import. It may have been deleted since.',
    ),
    user_id: NullOr(Type.Integer(), 'Who added it; null for a key or an import.'),
    user_name: NullOr(Type.String(), 'The name of the person or key.'),
    created_at: Timestamp,
  },
  {
    title: 'DocumentWording',
    description: 'Another wording of a document’s title.',
    examples: [wordingExample],
  },
);
export type DocumentWording = Static<typeof DocumentWording>;

export const NewWording = Type.Object(
  { text: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }) },
  { title: 'NewWording', examples: [{ text: wordingExample.text }] },
);

export const DocumentWithVersions = Type.Object(
  {
    ...documentFields,
    wordings: Type.Array(DocumentWording, {
      description: 'Other wordings of the title, newest first; at most 100.',
    }),
    versions: Type.Array(DocumentVersion, {
      description: 'Newest first, the current one included; at most 50.',
    }),
  },
  {
    title: 'DocumentWithVersions',
    description: 'The document with its other wordings and its versions.',
    examples: [
      {
        ...example,
        wordings: [wordingExample],
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
        'Searches titles, other wordings and bodies. Ignores case, accents and endings; the last word may be incomplete.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 100,
      description: 'Page size. The `Link` header has the next page.',
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'From the `Link` header of the previous page.' })),
});

export const DocumentChange = Type.Object(
  {
    title: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    body: Type.Optional(Type.String({ minLength: 1, maxLength: 20_000 })),
  },
  {
    title: 'DocumentChange',
    description: 'Fields that you leave out do not change.',
    examples: [{ body: 'Yes, two of them, both decaffeinated with water.' }],
  },
);

export const ChangeHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'The `ETag` of the document that you read: 409 if it has changed since.' }),
  ),
});

const Suggestion = Type.Object(
  {
    kind: Type.Enum(['document', 'notification']),
    id: Type.Integer({ description: 'The id of the document or of the answered notification.' }),
    question: Type.String({ description: 'The question, or the document’s title.' }),
    answer: Type.String(),
    score: Type.Number({ minimum: 0, maximum: 1, description: '1 is the same question.' }),
  },
  { title: 'Suggestion' },
);
export type Suggestion = Static<typeof Suggestion>;

export const SuggestionList = Type.Array(Suggestion, {
  description: 'Best match first. Empty if nothing is similar.',
  examples: [
    [{ kind: 'document', id: 3, question: 'Do you have decaf beans?', answer: example.body, score: 0.87 }],
  ],
});

export const SuggestionQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 20, default: 5, description: 'Maximum number of results.' }),
  ),
});
