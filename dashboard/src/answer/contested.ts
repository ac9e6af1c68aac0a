import type { NotificationDetail } from '../api/types.ts';
import { session } from '../session/session.ts';
import { isBeingSent } from './beingSent.ts';
import { readDraft } from './drafts.ts';

/** What somebody else did with a notification that the user has written a text for. */
export interface OthersAnswer {
  kind: 'answered' | 'resolved' | 'cancelled';
  name: string | null;
  /** What the customer got. */
  text: string;
}

const draftText = (id: number): string => Object.values(readDraft(id).fields).join('').trim();

const isOwn = ({ answered_by }: NotificationDetail): boolean => {
  const state = session.get();
  return state.status === 'signedIn' && state.user.name === answered_by;
};

const sentText = ({ answer, answered_fields: [field = 'answer'] }: NotificationDetail): string => {
  const text = (answer as Record<string, unknown> | null)?.[field];
  return typeof text === 'string' ? text : '';
};

/** The server has what the user has written, although its response may not have arrived. */
export function isOwnDraft(item: NotificationDetail): boolean {
  const [field = 'answer'] = item.answered_fields;
  const text = sentText(item).trim();
  return text !== '' && isOwn(item) && readDraft(item.id).fields[field]?.trim() === text;
}

/** Undefined if nobody else has answered, or if there is no text of the user that would be lost. */
export function othersAnswer(item: NotificationDetail): OthersAnswer | undefined {
  if (item.status !== 'answered' || isBeingSent(item.id) || draftText(item.id) === '') return undefined;
  // Not loaded yet.
  if (!item.answer || isOwnDraft(item)) return undefined;
  const answer = item.answer as Record<string, unknown>;
  const done = { name: item.answered_by ?? null, text: sentText(item) };
  if (answer.cancelled === true) return { kind: 'cancelled', ...done };
  if (answer.resolve_only !== true) return { kind: 'answered', ...done };
  // The user resolved it: the text is kept in case that is undone.
  return isOwn(item) ? undefined : { kind: 'resolved', ...done };
}
