import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';
import { MESSAGE_LENGTH_MAX } from './conversations.ts';

export const SAVED_REPLIES_MAX = 200;
const TITLE_LENGTH_MAX = 100;

const title = Type.String({ minLength: 1, maxLength: TITLE_LENGTH_MAX, pattern: '\\S' });
const text = Type.String({
  minLength: 1,
  maxLength: MESSAGE_LENGTH_MAX,
  pattern: '\\S',
  description: 'May contain `{{name}}`: the dashboard inserts the customer’s name there.',
});

const example = {
  id: 1,
  title: 'On its way',
  text: 'Good news, {{name}}: your parcel has left us today.',
  created_at: '2026-01-15T09:30:00.000Z',
  updated_at: '2026-01-15T09:30:00.000Z',
};

export const SavedReply = Type.Object(
  { id: Type.Integer(), title, text, created_at: Timestamp, updated_at: Timestamp },
  { title: 'SavedReply', description: 'A text that people insert into a message.', examples: [example] },
);

export const SavedReplyList = Type.Array(SavedReply, {
  description: 'All of the merchant’s, by title.',
  examples: [[example]],
});

export const SavedReplyBody = Type.Object(
  { title, text },
  { title: 'NewSavedReply', examples: [{ title: example.title, text: example.text }] },
);
export type SavedReplyBody = Static<typeof SavedReplyBody>;

export const SavedReplyChange = Type.Object(
  { title: Type.Optional(title), text: Type.Optional(text) },
  { title: 'SavedReplyChange', examples: [{ title: example.title }] },
);
