import { type Static, Type } from 'typebox';

export const Message = Type.Object(
  { message: Type.String({ description: 'What happened, in plain words.' }) },
  { description: 'The response to a write.', examples: [{ message: 'Notification answered.' }] },
);
export type Message = Static<typeof Message>;

export const ErrorBody = Type.Object(
  {
    detail: Type.String({ description: 'Human-readable message. Always present.' }),
    code: Type.String({ description: 'Error code. Does not change between versions.' }),
    field: Type.Optional(Type.String({ description: 'The offending field of a validation error.' })),
  },
  { description: 'The body of every error.' },
);

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC.',
  examples: ['2026-01-15T09:30:00.000Z'],
});
