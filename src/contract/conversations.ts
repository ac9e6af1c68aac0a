import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

export const CONVERSATIONS_MAX = 200;

export const ConversationQuery = Type.Object({
  ids: Type.Optional(
    Type.String({
      description: `Only these, at most ${CONVERSATIONS_MAX}, separated by commas.`,
      examples: ['1,2,3'],
    }),
  ),
});

export const ConversationList = Type.Array(
  Type.Object({
    id: Type.Integer(),
    customer_name: Type.String(),
    customer_phone: Type.String(),
    window_open_until: Type.Union([Timestamp, Type.Null()], {
      description: 'The end of the 24-hour window in which free text can be sent; null if it is closed.',
    }),
  }),
  {
    description: 'Newest first.',
    examples: [
      [
        {
          id: 1,
          customer_name: 'Lucía Fernández',
          customer_phone: '+34611550101',
          window_open_until: '2026-01-16T09:30:00.000Z',
        },
      ],
    ],
  },
);
export type ConversationList = Static<typeof ConversationList>;
