import { Type } from 'typebox';
import { NullOr } from './common.ts';

export const TEACHINGS = ['nothing', 'new', 'replace', 'append'] as const;
const LEARNED = ['new', 'replace', 'append', 'wording'] as const;
export type Learned = (typeof LEARNED)[number];

const teachingName = Type.Enum([...TEACHINGS], {
  type: 'string',
  title: 'Teaching',
  description:
    '`nothing`: the knowledge base learns nothing. `new`: a new document. `replace`: the text replaces that of a ' +
    'document. `append`: the text is added at the end of a document.',
});

const title = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const text = Type.String({ minLength: 1, maxLength: 20_000, pattern: '\\S' });

/** Part of an answer. */
export const Teach = Type.Object(
  {
    do: teachingName,
    document_id: Type.Optional(
      NullOr(
        Type.Integer(),
        'For `replace` and `append`: one of the merchant’s documents. Default: `context.document_id`.',
      ),
    ),
    title: Type.Optional(
      NullOr(title, 'Default: the question for a new document, else the title does not change.'),
    ),
    text: Type.Optional(NullOr(text, 'What is learned. Default: the answer.')),
  },
  { title: 'Teach', description: 'What the knowledge base learns from the answer.' },
);

export const Lesson = Type.Object(
  {
    do: Type.Enum([...LEARNED], {
      type: 'string',
      description:
        'What happened to the document. `wording`: it got the question as another wording, and has the same text.',
    }),
    document_id: Type.Integer({ minimum: 1, description: 'It may have been deleted since.' }),
    version: Type.Integer({ minimum: 1, description: 'The version of the document with the lesson.' }),
  },
  { title: 'Lesson', description: 'What the knowledge base learned from the answer.' },
);

export const lesson = NullOr(Lesson, 'What the knowledge base learned from the answer, or null.');

export const TeachingProposal = Type.Object(
  {
    personal: Type.Boolean({ description: 'The question is about this customer only.' }),
    document: NullOr(
      Type.Object(
        {
          id: Type.Integer({ minimum: 1 }),
          title: Type.String(),
          body: Type.String(),
          version: Type.Integer({ minimum: 1 }),
        },
        { title: 'TaughtDocument' },
      ),
      'The document that the notification refers to.',
    ),
    proposal: Type.Object(
      {
        do: teachingName,
        title: Type.String({ description: 'The title of the document.' }),
        text: Type.Null({ description: 'Null: the answer.' }),
      },
      { title: 'ProposedTeaching' },
    ),
  },
  {
    title: 'TeachingProposal',
    description: 'What an answer could teach.',
    examples: [
      {
        personal: false,
        document: null,
        proposal: { do: 'new', title: 'Do you have decaf beans?', text: null },
      },
    ],
  },
);
