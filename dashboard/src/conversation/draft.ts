import { readStoredDraft, removeStoredDraft, storeDraft } from '../shell/draftStorage.ts';

/** An unsent message to the customer of a conversation. */

const nameOf = (conversationId: number) => `conversation.${conversationId}`;

export const readStoredText = (conversationId: number): string =>
  readStoredDraft<{ text: string }>(nameOf(conversationId))?.text ?? '';

export function storeText(conversationId: number, text: string): void {
  if (text === '') removeStoredDraft(nameOf(conversationId));
  else storeDraft(nameOf(conversationId), { text });
}
