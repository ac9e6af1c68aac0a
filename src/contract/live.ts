import { Type } from 'typebox';

/** Clients give up after 60 seconds by default. */
export const WAIT_MAX_SECONDS = 45;
export const waitSeconds = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: WAIT_MAX_SECONDS, default: 0, description }));

export const ResumeHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description: 'The `id` of the last event that you received. The later ones are sent first.',
    }),
  ),
});

export const ResumeQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Like `Last-Event-ID`, for clients that cannot send headers.' }),
  ),
});

const example = {
  id: 17,
  type: 'notification.answered',
  timestamp: '2026-01-15T09:31:00.000Z',
  data: { notification_id: 10, status: 'answered', reference: 'run-42' },
};

export const EventText = {
  description: 'A stream of events.',
  content: {
    'text/event-stream': {
      schema: Type.String({
        examples: [
          `event: connected\nid: 16\ndata: {"id":16}\n\nevent: ${example.type}\nid: 17\ndata: ${JSON.stringify(example)}\n\n`,
        ],
      }),
    },
  },
};
