import { useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import type { SimulatorMessage } from '../api/types.ts';
import { type Conversation, keepConversations } from '../inbox/conversations.ts';
import { createStore, useStore } from '../shell/store.ts';

const LOOK_EVERY_MS = 2000;

/** Merchants on a real channel have no telephone here: the first look at one tells. */
const missing = createStore(false);

export const forgetTelephone = (): void => missing.set(false);

/** Looking at the telephone reads its messages, so it is looked at only while it is on the screen. */
export function useMessages(conversationId: number | undefined) {
  return useQuery({
    queryKey: ['telephone', conversationId],
    queryFn: async ({ signal }) => {
      try {
        return await ask<SimulatorMessage[]>(calls.telephone(conversationId!), { signal });
      } catch (error) {
        if (error instanceof Problem && error.status === 404) missing.set(true);
        throw error;
      }
    },
    enabled: conversationId !== undefined,
    refetchInterval: LOOK_EVERY_MS,
    retry: false,
  });
}

export const useTelephoneMissing = (): boolean => useStore(missing);

/** Believed to exist until a look says otherwise: a look would mark messages as read. */
export function useTelephoneExists(_conversationId: number): boolean {
  return !useStore(missing);
}

export function useCustomers() {
  return useQuery({
    queryKey: ['conversations'],
    queryFn: async ({ signal }) => {
      const found = await ask<Conversation[]>(calls.conversations(), { signal });
      keepConversations(found);
      return found;
    },
  });
}
