import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { NOTE_MAX } from './plain.ts';

export const NOTES_MAX = 200;
export const MENTIONS_MAX = 20;

const userId = Type.Integer({ minimum: 1, description: 'The id of a person of the merchant.' });
export const assigneeId = NullOr(userId, 'Somebody who can sign in, or null for nobody.');
export const person = { id: 3, name: 'Alma Reyes' };
const NamedPerson = Type.Object(
  { id: Type.Integer(), name: Type.String() },
  { title: 'Person', description: 'Somebody who works for the merchant.', examples: [person] },
);

export const AssignedTo = NullOr(NamedPerson, 'Who takes care of it.');
export const NotesCount = Type.Integer({ description: 'How many internal notes it has.' });

export const AssigneeBody = Type.Object(
  { user_id: assigneeId },
  { title: 'Assignment', examples: [{ user_id: 3 }, { user_id: null }] },
);
export const Assignee = Type.Object(
  { assigned_to: AssignedTo },
  { title: 'Assignee', description: 'Who takes care of it now.', examples: [{ assigned_to: person }] },
);

export const NoteBody = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: NOTE_MAX,
      pattern: '\\S',
      description: 'Who is written as @name is mentioned, if only one person has this name or first name.',
    }),
    mentions: Type.Optional(
      Type.Array(userId, { maxItems: MENTIONS_MAX, description: 'More people whom it mentions.' }),
    ),
  },
  { title: 'NewNote', examples: [{ text: '@Alma, is this one back on Monday?' }] },
);

const note = {
  id: 1,
  text: '@Alma, is this one back on Monday?',
  author: { id: 4, name: 'Teo Vidal' },
  mentions: [person],
  created_at: '2026-01-15T09:30:00.000Z',
};
export const Note = Type.Object(
  {
    id: Type.Integer(),
    text: Type.String(),
    author: NullOr(NamedPerson, 'Null if the person no longer exists.'),
    mentions: Type.Array(NamedPerson),
    created_at: Timestamp,
  },
  {
    title: 'Note',
    description: 'An internal note. Customers and assistants never see it.',
    examples: [note],
  },
);
export type Note = Static<typeof Note>;

export const Notes = Type.Object(
  { notes: Type.Array(Note) },
  {
    title: 'Notes',
    description: 'The internal notes, oldest first.',
    examples: [{ notes: [note] }],
  },
);

export const PRESENCE_STATES = ['open', 'typing', 'gone'] as const;
export type PresenceState = (typeof PRESENCE_STATES)[number];

export const PresenceBody = Type.Object(
  {
    state: Type.Enum([...PRESENCE_STATES], {
      type: 'string',
      description: 'It ends 15 seconds after it was last sent.',
    }),
  },
  { title: 'NewPresence', examples: [{ state: 'typing' }] },
);

const present = { user_id: 3, name: 'Alma Reyes', state: 'typing' };
export const Presence = Type.Object(
  {
    user_id: Type.Integer(),
    name: Type.String(),
    state: Type.Enum(['open', 'typing'], { type: 'string' }),
  },
  {
    title: 'Presence',
    description: 'Somebody who has the notification open.',
    examples: [present],
  },
);
export const Presences = Type.Array(Presence, {
  description: 'The other people who have it open now.',
  examples: [[present]],
});
export type Presence = Static<typeof Presence>;

const listed = { notification_id: 12, ...present };
const ListedPresence = Type.Object(
  { notification_id: Type.Integer({ minimum: 1 }), ...Presence.properties },
  {
    title: 'ListedPresence',
    description: 'Somebody who has one of the notifications open.',
    examples: [listed],
  },
);
export const ListedPresences = Type.Array(ListedPresence, {
  description: 'The other people who have them open now.',
  examples: [[listed]],
});
export type ListedPresence = Static<typeof ListedPresence>;
