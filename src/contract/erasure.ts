import { Type } from 'typebox';

export const ERASING = 'The customer is being erased.';

export const ErasureStarted = Type.Object(
  {
    message: Type.String({ description: 'What happened, in plain words.' }),
    conversation_ids: Type.Array(Type.Integer(), {
      description: 'The conversations of this customer: this one, and the others with the same number.',
    }),
  },
  {
    title: 'ErasureStarted',
    description: 'The customer is gone. What they wrote is removed within a minute.',
    examples: [{ message: ERASING, conversation_ids: [12, 40] }],
  },
);
