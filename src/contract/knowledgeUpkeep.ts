import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { Document } from './knowledge.ts';

export const CHANGES_LIMIT = { default: 50, max: 200 };
export const STALE_LIMIT = { default: 50, max: 100 };
export const IMPORT_MAX_BYTES = 1024 * 1024;
export const IMPORT_DOCUMENTS_MAX = 1000;

export const NewDocument = Type.Object(
  {
    title: Type.String({ minLength: 1, maxLength: 200 }),
    body: Type.String({ minLength: 1, maxLength: 20_000 }),
    notification_id: Type.Optional(
      NullOr(
        Type.Integer({ minimum: 1 }),
        'The answered notification that it was written for. The question is then no longer a gap.',
      ),
    ),
  },
  {
    title: 'NewDocument',
    examples: [{ title: 'Do you sell gift cards?', body: 'Yes, from 20 euros, in the shop and online.' }],
  },
);

const CHANGES = ['created', 'changed', 'reverted', 'deleted', 'wording_added', 'wording_removed'] as const;

const KnowledgeChange = Type.Object(
  {
    what: Type.Enum([...CHANGES]),
    cause: Type.Enum(['answer', 'edit', 'revert', 'import'], {
      description: 'An answer to a question, an edit, a revert, or an import.',
    }),
    document_id: Type.Integer({ minimum: 1, description: 'The document. It may be deleted.' }),
    title: Type.String({ description: 'The title that the change left.' }),
    version: NullOr(Type.Integer({ minimum: 1 }), 'Null if the change made no version.'),
    wording: NullOr(Type.String(), 'The wording that was added.'),
    notification_id: NullOr(
      Type.Integer(),
      'The notification that was answered. It may have been deleted since.',
    ),
    user_id: NullOr(Type.Integer()),
    key_id: NullOr(Type.Integer(), 'The key of the program that did it.'),
    name: NullOr(Type.String(), 'The name of the person or key; null for the command line.'),
    at: Timestamp,
  },
  { title: 'KnowledgeChange' },
);
export type KnowledgeChange = Static<typeof KnowledgeChange>;

export const KnowledgeChanges = Type.Object(
  { changes: Type.Array(KnowledgeChange), next_cursor: NullOr(Type.String()) },
  {
    title: 'KnowledgeChanges',
    description: 'Changes to the documents, newest first.',
    examples: [
      {
        changes: [
          {
            ...{
              what: 'changed',
              cause: 'edit',
              document_id: 3,
              title: 'Do you have decaf beans?',
              version: 2,
            },
            ...{ wording: null, notification_id: null, user_id: 1, key_id: null, name: 'Alma Reyes' },
            at: '2026-01-16T11:00:00.000Z',
          },
        ],
        next_cursor: null,
      },
    ],
  },
);

export const ChangesQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: CHANGES_LIMIT.max, default: CHANGES_LIMIT.default }),
  ),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the previous page.' })),
});

const StaleDocument = Type.Object(
  {
    ...Document.properties,
    reason: Type.Enum(['wrong', 'unused'], {
      description:
        'wrong: in the last 30 days, answers from it were judged wrong at least as often as right, and it has not been ' +
        'changed since. unused: for 90 days no question has led to it, and nobody has changed it.',
    }),
    wrong: Type.Integer({ description: 'How many answers were judged wrong.' }),
    last_used_on: NullOr(Type.String({ examples: ['2026-01-15'] }), 'The last day on which it was of use.'),
  },
  { title: 'StaleDocument' },
);
export type StaleDocument = Static<typeof StaleDocument>;

export const StaleDocuments = Type.Object(
  { documents: Type.Array(StaleDocument), next_cursor: NullOr(Type.String()) },
  {
    title: 'StaleDocuments',
    description: 'Those that were wrong first.',
    examples: [
      {
        documents: [
          {
            ...{ id: 3, title: 'Do you have decaf beans?', body: 'Yes, a Colombian one.', version: 1 },
            ...{ created_at: '2026-01-15T09:30:00.000Z', updated_at: '2026-01-15T09:30:00.000Z' },
            ...{ reason: 'wrong', wrong: 2, last_used_on: null },
          },
        ],
        next_cursor: null,
      },
    ],
  },
);

export const StaleQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: STALE_LIMIT.max, default: STALE_LIMIT.default })),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the previous page.' })),
});

const FileFormat = Type.Enum(['md', 'jsonl', 'csv'], {
  type: 'string',
  description:
    'Markdown, in which each line `# Title` starts a document; JSON Lines or a JSON array of objects with `title`, ' +
    '`body` and, if you like, `wordings`; or CSV with columns of these names.',
});

export const ExportQuery = Type.Object({ format: Type.Optional(FileFormat) });

export const ExportedFile = {
  description: 'The file.',
  content: {
    'text/markdown': { schema: Type.String({ examples: ['# Opening hours\n\nFrom 10 to 19.\n'] }) },
    'application/jsonl': {
      schema: Type.String({ examples: ['{"title":"Opening hours","body":"From 10 to 19."}\n'] }),
    },
    'text/csv': {
      schema: Type.String({ examples: ['title,body,wordings\nOpening hours,From 10 to 19.,\n'] }),
    },
  },
};

export const ImportBody = Type.Object(
  {
    format: FileFormat,
    text: Type.String({ minLength: 1, description: 'The content of the file.' }),
    preview: Type.Optional(
      NullOr(Type.Boolean({ default: false }), 'True: only tell what would happen, and write nothing.'),
    ),
  },
  {
    title: 'ImportBody',
    examples: [{ format: 'md', text: '# Opening hours\n\nFrom 10 to 19.\n', preview: true }],
  },
);

const ImportedDocument = Type.Object(
  {
    line: Type.Integer({ minimum: 1 }),
    title: Type.String(),
    change: Type.Enum(['new', 'changed', 'same']),
    document_id: NullOr(Type.Integer({ minimum: 1 }), 'The document with this title.'),
  },
  { title: 'ImportedDocument' },
);
export type ImportedDocument = Static<typeof ImportedDocument>;

export const ImportResult = Type.Object(
  {
    added: Type.Integer(),
    updated: Type.Integer(),
    unchanged: Type.Integer(),
    failed: Type.Integer({ description: 'How many could not be used.' }),
    problems: Type.Array(Type.Object({ line: Type.Integer({ minimum: 1 }), problem: Type.String() }), {
      description: 'Why, for the first 100 of them.',
    }),
    documents: Type.Array(ImportedDocument, {
      description: 'For a preview, what would happen to each; otherwise empty.',
    }),
  },
  {
    title: 'ImportResult',
    description: 'What happened, or would happen.',
    examples: [
      {
        ...{ added: 1, updated: 0, unchanged: 0, failed: 1 },
        problems: [{ line: 4, problem: 'body must not be blank' }],
        documents: [{ line: 1, title: 'Opening hours', change: 'new', document_id: null }],
      },
    ],
  },
);

const KnowledgeGap = Type.Object(
  {
    question: Type.String({ description: 'The newest of them. A long question is shortened.' }),
    count: Type.Integer({ minimum: 1, description: 'How many customers asked it.' }),
    pending_ids: Type.Array(Type.Integer({ minimum: 1 }), {
      description: 'Those that still wait for an answer, newest first. Answer them with `answer-many`.',
    }),
    answered_id: NullOr(
      Type.Integer({ minimum: 1 }),
      'The newest that was answered without teaching the assistant, if any.',
    ),
    answer: NullOr(Type.String(), 'What that customer was told: a first version of a document.'),
    newest_at: Timestamp,
  },
  { title: 'KnowledgeGap' },
);
export type KnowledgeGap = Static<typeof KnowledgeGap>;

export const KnowledgeGaps = Type.Object(
  {
    gaps: Type.Array(KnowledgeGap, {
      description: 'Those with pending questions first, then asked most, then the newest; at most 50.',
    }),
  },
  {
    title: 'KnowledgeGaps',
    description: 'What customers asked and no document answers.',
    examples: [
      {
        gaps: [
          {
            ...{ question: 'Do you sell gift cards?', count: 3, pending_ids: [31, 28], answered_id: 20 },
            ...{ answer: 'Yes, from 20 euros.', newest_at: '2026-01-15T09:30:00.000Z' },
          },
        ],
      },
    ],
  },
);
