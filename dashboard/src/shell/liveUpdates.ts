import type { QueryClient } from '@tanstack/react-query';
import { subscribeShared } from '../api/sharedEvents.ts';
import type { Notification } from '../api/types.ts';
import { refreshConversations } from '../inbox/conversations.ts';
import { LIST_KEY } from '../inbox/notifications.ts';
import { currentRoute } from './route.ts';

/** The queries to reload after each event. */
const QUERIES_BY_EVENT: Record<string, readonly string[]> = {
  inbox: [
    ...['gaps', 'notifications', 'groups', 'notification', 'overview', 'conversations', 'testPhone'],
    ...['notes', 'timeline'],
  ],
  presence: ['presence'],
  deliveries: ['notification', 'delivery', 'limits', 'testPhone', 'timeline'],
  conversations: ['timeline', 'testPhone'],
  knowledge: ['documents', 'document', 'suggestions', 'teaching', 'gaps'],
};
/** Events that arrive together cause one refresh. A long list is reloaded less often. */
const BATCH_MS = 60;
const LONG_LIST_LENGTH = 2000;
const LONG_LIST_BATCH_MS = 500;

export function startLiveUpdates(client: QueryClient): () => void {
  const stale = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const refresh = () => {
    timer = undefined;
    const keys = [...stale];
    stale.clear();
    for (const key of keys) void client.invalidateQueries({ queryKey: [key] });
    if (keys.includes('notifications')) refreshConversations(visibleConversations(client));
  };
  const stop = subscribeShared((name) => {
    const keys = name === 'open' ? Object.values(QUERIES_BY_EVENT).flat() : (QUERIES_BY_EVENT[name] ?? []);
    for (const key of keys) stale.add(key);
    const length = client.getQueryData<readonly Notification[]>(LIST_KEY)?.length ?? 0;
    if (stale.size > 0)
      timer ??= setTimeout(refresh, length > LONG_LIST_LENGTH ? LONG_LIST_BATCH_MS : BATCH_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

const VISIBLE_MAX = 50;

/** Conversations that may be on the screen, with their reply window. */
function visibleConversations(client: QueryClient): Set<number> {
  const items = client.getQueryData<readonly Notification[]>(LIST_KEY) ?? [];
  const route = currentRoute();
  const open = route.page === 'inbox' ? items.find(({ id }) => id === route.id) : undefined;
  return new Set(
    [...(open ? [open] : []), ...items.slice(0, VISIBLE_MAX)].map(({ conversation_id }) => conversation_id),
  );
}
