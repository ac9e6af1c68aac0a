import type { PersonName } from '../../auth/people.ts';
import { NOTE_MAX } from '../../contract/plain.ts';
import { MENTIONS_MAX, PRESENCE_STATES, type PresenceState } from '../../contract/teamwork.ts';
import { storableText } from '../../database/text.ts';
import { invalid, required } from '../../errors.ts';
import { isId, isLongerThan, objectIn, readName } from '../../http/input.ts';
import { findMentions } from './mentions.ts';

export const assigneeInvalid = () =>
  invalid(
    'user_id',
    'user_id must be the id of somebody who works for the merchant and can sign in, or null',
  );
export const mentionsInvalid = () =>
  invalid('mentions', `mentions must be at most ${MENTIONS_MAX} ids of people who work for the merchant`);
export const textInvalid = () => invalid('text', `text must be a text of at most ${NOTE_MAX} characters`);

/** Whom to assign it to, or null for nobody. */
export function readAssignee(body: unknown): number | null {
  const { user_id } = objectIn(body);
  if (user_id === undefined) throw required('user_id');
  if (user_id === null) return null;
  if (!isId(user_id)) throw assigneeInvalid();
  return user_id;
}

export interface NewNote {
  text: string;
  mentions: readonly number[];
}

/** Before its size is known, nothing is done with the text. */
export function readNote(body: unknown): NewNote {
  const { text, mentions = [] } = objectIn(body);
  if (text === undefined || text === null) throw required('text');
  if (typeof text !== 'string' || isLongerThan(text, NOTE_MAX)) throw textInvalid();
  if (text.trim() === '') throw required('text');
  if (!Array.isArray(mentions) || mentions.length > MENTIONS_MAX || !mentions.every(isId))
    throw mentionsInvalid();
  return { text: storableText(text), mentions };
}

/** All whom a note mentions: those that were given, and those in its text. */
export function mentionedIn({ text, mentions }: NewNote, people: readonly PersonName[]): number[] {
  const known = new Set(people.map(({ id }) => id));
  if (!mentions.every((id) => known.has(id))) throw mentionsInvalid();
  return [...new Set([...mentions, ...findMentions(text, people)])];
}

export function readPresence(body: unknown): PresenceState {
  const state = readName('state', objectIn(body).state, PRESENCE_STATES);
  if (!state) throw required('state');
  return state;
}
