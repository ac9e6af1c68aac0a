import { readStoredDraft, removeStoredDraft, storeDraft } from '../shell/draftStorage.ts';
import { newKey } from '../shell/newKey.ts';

/** A note that is not saved yet. */
export interface NoteDraft {
  text: string;
  /** Idempotency key: the note is added once, even if a bad connection sends it twice. */
  key: string;
}

const nameOf = (notificationId: number) => `note.${notificationId}`;

export function readNoteDraft(notificationId: number): NoteDraft {
  const { text = '', key = newKey() } = readStoredDraft<NoteDraft>(nameOf(notificationId)) ?? {};
  return { text, key };
}

/** With a new key: for another text, or for another attempt after the server has refused it. */
export function saveNoteDraft(notificationId: number, text: string): NoteDraft {
  const draft = { text, key: newKey() };
  if (text === '') removeNoteDraft(notificationId);
  else storeDraft(nameOf(notificationId), draft);
  return draft;
}

export const removeNoteDraft = (notificationId: number): void => removeStoredDraft(nameOf(notificationId));
