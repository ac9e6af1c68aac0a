import { useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ApiError } from '../api/error.ts';
import type { SimulatorMessage } from '../api/types.ts';
import { type Conversation, storeConversations } from '../inbox/conversations.ts';
import { useDeveloperTools } from '../settings/merchant.ts';
import { createStore, useStore } from '../shell/store.ts';

const POLL_MS = 2000;

/** Merchants on a real channel have no test phone. The first request for its messages finds out. */
const missing = createStore(false);

export const resetTestPhone = (): void => missing.set(false);

/** Loading the messages marks them as read, so use this only while they are on the screen. */
export function useMessages(conversationId: number | undefined) {
  return useQuery({
    queryKey: ['testPhone', conversationId],
    queryFn: async ({ signal }) => {
      try {
        return await request<SimulatorMessage[]>(calls.simulatorMessages(conversationId!), { signal });
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) missing.set(true);
        throw error;
      }
    },
    enabled: conversationId !== undefined,
    refetchInterval: POLL_MS,
    retry: false,
  });
}

/** True until a request says otherwise. Checking earlier would mark messages as read. */
export function useHasTestPhone(): boolean {
  return !useStore(missing);
}

/** Whether the dashboard offers the test phone to the user. */
export function useOffersTestPhone(): boolean {
  const exists = useHasTestPhone();
  return useDeveloperTools() && exists;
}

/** Those with a phone. The assistant reaches the others. */
export function useCustomers() {
  return useQuery({
    queryKey: ['conversations'],
    queryFn: async ({ signal }) => {
      const found = await request<Conversation[]>(calls.conversations(), { signal });
      storeConversations(found);
      return found.filter(({ customer_phone }) => customer_phone !== '');
    },
  });
}
