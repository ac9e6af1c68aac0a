import { readStoredDraft, removeStoredDraft, storeDraft } from '../shell/draftStorage.ts';
import { newKey } from '../shell/newKey.ts';

/** An unsent message to the customer of a conversation. */
export interface MessageDraft {
  text: string;
  /** All tries to send this text have the same key and the same time to undo: the server sends it once. */
  key: string;
  undoSeconds?: number | undefined;
}

const nameOf = (conversationId: number) => `conversation.${conversationId}`;

/** Another text is another message. */
export const newDraft = (text: string): MessageDraft => ({ text, key: newKey() });

export function readMessageDraft(conversationId: number): MessageDraft {
  const {
    text = '',
    key = newKey(),
    undoSeconds,
  } = readStoredDraft<MessageDraft>(nameOf(conversationId)) ?? {};
  return { text, key, undoSeconds };
}

/** It survives a reload, so that the next try is the same message. */
export function storeMessageDraft(conversationId: number, draft: MessageDraft): void {
  if (draft.text === '') removeStoredDraft(nameOf(conversationId));
  else storeDraft(nameOf(conversationId), draft);
}
