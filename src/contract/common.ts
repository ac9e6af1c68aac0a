import { type TSchema, Type } from 'typebox';

/** The response of a write that returns only a text. `texts` are the ones that this route sends. */
export const MessageOf = (...texts: [string, ...string[]]) =>
  Type.Object(
    { message: Type.String({ description: 'What happened, in plain words.' }) },
    {
      title: 'Message',
      description: 'The response to a write.',
      examples: texts.map((message) => ({ message })),
    },
  );

export const ErrorBody = Type.Object(
  {
    detail: Type.String({ description: 'Human-readable message. Always present.' }),
    code: Type.String({ description: 'Error code. Does not change between versions.' }),
    field: Type.Optional(Type.String({ description: 'The offending field of a validation error.' })),
  },
  { description: 'The body of every error.' },
);

export const NullOr = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** Of a filter: the beginning of a day in UTC, or a time. */
export const Since = Type.Union([Type.String({ format: 'date-time' }), Type.String({ format: 'date' })], {
  description: 'Only since this time.',
  examples: ['2026-01-15T09:00:00Z'],
});

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC.',
  examples: ['2026-01-15T09:30:00.000Z'],
});
