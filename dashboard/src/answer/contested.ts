import type { NotificationDetail } from '../api/types.ts';
import { session } from '../session/session.ts';
import { readDraft } from './drafts.ts';
import { isBeingSent } from './submit.ts';

/** What somebody else did with a notification that the user has written a text for. */
export interface OthersAnswer {
  kind: 'answered' | 'resolved' | 'cancelled';
  name: string | null;
  /** What the customer got. */
  text: string;
}

const draftText = (id: number): string => Object.values(readDraft(id).fields).join('').trim();

/** Undefined if nobody else has answered, or if there is no text of the user that would be lost. */
export function othersAnswer(item: NotificationDetail): OthersAnswer | undefined {
  if (item.status !== 'answered' || isBeingSent(item.id) || draftText(item.id) === '') return undefined;
  // Not loaded yet.
  if (!item.answer) return undefined;
  const answer = item.answer as Record<string, unknown>;
  const name = item.answered_by ?? null;
  const [field = 'answer'] = item.answered_fields;
  const text = typeof answer[field] === 'string' ? answer[field] : '';
  if (answer.cancelled === true) return { kind: 'cancelled', name, text };
  if (answer.resolve_only !== true) return { kind: 'answered', name, text };
  // The user resolved it: the text is kept in case that is undone.
  const state = session.get();
  const isOwn = state.status === 'signedIn' && state.user.name === name;
  return isOwn ? undefined : { kind: 'resolved', name, text };
}
