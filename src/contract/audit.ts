import { type Static, Type } from 'typebox';
import { EVENT_NAMES } from './auditEvents.ts';
import { NullOr, Since, Timestamp } from './common.ts';

const AuditEvent = Type.Object(
  {
    id: Type.Integer(),
    at: Timestamp,
    what: Type.String({
      description: `What happened: ${EVENT_NAMES.map((name) => `\`${name}\``).join(', ')}.`,
    }),
    who: Type.Object(
      {
        kind: Type.String({
          description:
            '`user`, `key` (a program), `operator` (on the command line of the server), `server` (by itself) or `unknown`.',
        }),
        user_id: NullOr(Type.Integer()),
        name: NullOr(Type.String({ description: 'The user’s or key’s name at that time.' })),
      },
      { description: 'Who did it. For a failed sign-in, the account that was tried.' },
    ),
    from: NullOr(
      Type.String({ description: 'Roughly from where: a network, or `several`. Null on the command line.' }),
    ),
    about: Type.Record(Type.String(), Type.Union([Type.Integer(), Type.String()]), {
      description: 'The ids of what was changed.',
    }),
    count: Type.Integer({
      minimum: 1,
      description:
        'Equal sign-ins and ended sessions within an hour are one event. So are deletions, retries and cancellations, if ' +
        'one user makes thousands. For all messages in a state: how many were changed.',
    }),
    last_at: Timestamp,
  },
  { title: 'AuditEvent' },
);
export type AuditEvent = Static<typeof AuditEvent>;

export const AuditEventList = Type.Array(AuditEvent, {
  description: 'Events, newest first.',
  examples: [
    [
      {
        id: 7,
        at: '2026-01-15T09:30:00.000Z',
        what: 'sign_in.succeeded',
        who: { kind: 'user', user_id: 1, name: 'Alma Reyes' },
        from: '192.0.2.0/24',
        about: {},
        count: 1,
        last_at: '2026-01-15T09:30:00.000Z',
      },
    ],
  ],
});

export const AuditQuery = Type.Object({
  what: Type.Optional(Type.String({ description: 'Only events with this name.' })),
  user_id: Type.Optional(Type.Integer({ minimum: 1, description: 'Only what this user did.' })),
  since: Type.Optional(Since),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'Page size.' })),
  cursor: Type.Optional(Type.String({ description: 'From the `Link` header of the previous page.' })),
});
