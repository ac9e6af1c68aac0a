import { Type } from 'typebox';

export const ResumeHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description: 'The `id` of the last event that you received. Missed changes are sent immediately.',
    }),
  ),
});

export const EventText = {
  description: 'A stream of events, until the access token expires.',
  content: {
    'text/event-stream': {
      schema: Type.String({ examples: ['event: inbox\nid: 3f0c6a51d2\ndata: {}\n\n'] }),
    },
  },
};
