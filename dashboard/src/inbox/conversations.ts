import { useEffect } from 'react';
import type { ConversationList } from '../../../src/contract/conversations.ts';
import { createByIds } from '../api/byIds.ts';
import { calls } from '../api/calls.ts';

export type Conversation = ConversationList[number];

const conversations = createByIds<Conversation>(calls.conversations);
export const { store: storeConversations, reset: resetConversations } = conversations;

/** Needed when a customer writes again, because that extends the reply window. */
export function refreshConversations(ids: ReadonlySet<number>): void {
  conversations.forget(ids);
  conversations.load(ids);
}

/** Returns all loaded conversations and loads those of `ids`. */
export function useConversations(ids: readonly number[]): ReadonlyMap<number, Conversation> {
  useEffect(() => conversations.load(ids), [ids]);
  return conversations.useLoaded();
}
